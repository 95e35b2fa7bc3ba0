import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawFlame, frames, type Profile } from './flame.js';

const frame = (functionName: string, url = '') => ({ functionName, url, lineNumber: 0 });
const profile: Profile = {
  nodes: [
    { id: 1, callFrame: frame('(root)'), children: [2, 3, 4] },
    { id: 2, callFrame: frame('(idle)') },
    { id: 3, callFrame: frame('work', 'file:///x/dist/edge/app.js'), children: [5] },
    { id: 4, callFrame: frame('work', 'file:///x/dist/edge/app.js') },
    { id: 5, callFrame: frame('parse', 'file:///x/node_modules/@a/b/c.js') },
  ],
  samples: [3, 2, 3, 4, 5],
  timeDeltas: [100, 5000, 10, 20, 30],
};

test('equal stacks are added up, idle time and what is skipped left out', () => {
  const all = frames(profile);
  assert.deepEqual([all.total, all.callees.length], [160, 1]);
  const [work] = all.callees;
  assert.ok(work);
  assert.deepEqual([work.name, work.group, work.self, work.total], ['work edge/app.js:1', 'edge', 130, 160]);
  assert.deepEqual([work.callees[0]?.group, work.callees[0]?.self], ['@a/b', 30]);
  assert.equal(frames(profile, 200).total, 60);
});

test('a flame graph says each share, and lets no name become markup', () => {
  const nodes = profile.nodes.map((node) =>
    node.id === 5 ? { ...node, callFrame: frame('<b>', 'file:///x/node_modules/c/d.js') } : node,
  );
  const drawn = drawFlame(frames({ ...profile, nodes }), 'a & b');
  assert.match(drawn, /a &amp; b/);
  assert.match(drawn, /&lt;b&gt; c\/d\.js:1 \(c\): 18\.8 %/);
  assert.doesNotMatch(drawn, /<b>/);
});
