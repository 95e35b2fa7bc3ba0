import * as z from 'zod';

/** What `node --cpu-prof` writes. */
export const profileSchema = z.object({
  nodes: z.array(
    z.object({
      id: z.int(),
      callFrame: z.object({ functionName: z.string(), url: z.string(), lineNumber: z.int() }),
      children: z.array(z.int()).optional(),
    }),
  ),
  samples: z.array(z.int()),
  timeDeltas: z.array(z.number()),
});
export type Profile = z.infer<typeof profileSchema>;

/** A function under the stack that it was called by; times in µs. */
export interface Frame {
  readonly name: string;
  /** Where the time belongs: a package, a folder of ours, or node. */
  readonly group: string;
  readonly self: number;
  readonly total: number;
  readonly callees: readonly Frame[];
}

/**
 * The profile as one tree, equal stacks together, without the time in which nothing ran.
 * @param skipMicros time at the beginning that is left out, such as start-up
 */
export function frames({ nodes, samples, timeDeltas }: Profile, skipMicros = 0): Frame {
  const selfTimes = new Map<number, number>();
  let at = 0;
  samples.forEach((id, i) => {
    const delta = timeDeltas[i] ?? 0;
    at += delta;
    if (at >= skipMicros) selfTimes.set(id, (selfTimes.get(id) ?? 0) + delta);
  });
  const byId = new Map(nodes.map((node) => [node.id, node]));
  type Node = Profile['nodes'][number];
  const calleesOf = (node: Node) => (node.children ?? []).flatMap((id) => byId.get(id) ?? []);
  const merge = (name: string, those: readonly Node[]): Frame => {
    const same = new Map<string, Node[]>();
    for (const callee of those.flatMap(calleesOf)) {
      const called = nameOf(callee.callFrame);
      if (called === '(idle)') continue;
      same.set(called, [...(same.get(called) ?? []), callee]);
    }
    const callees = [...same].map(([called, nodesOfIt]) => merge(called, nodesOfIt));
    const self = those.reduce((sum, { id }) => sum + (selfTimes.get(id) ?? 0), 0);
    const total = self + callees.reduce((sum, callee) => sum + callee.total, 0);
    return { name, group: groupOf(those[0]?.callFrame.url ?? ''), self, total, callees };
  };
  return merge(
    'all',
    nodes.filter(({ callFrame }) => callFrame.functionName === '(root)'),
  );
}

function nameOf({ functionName, url, lineNumber }: Profile['nodes'][number]['callFrame']): string {
  const place = url === '' ? '' : ` ${url.split('/').slice(-2).join('/')}:${String(lineNumber + 1)}`;
  return `${functionName || '(anonymous)'}${place}`;
}

function groupOf(url: string): string {
  const inPackage = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1];
  if (inPackage !== undefined) return inPackage;
  if (url === '' || url.startsWith('node:')) return 'node';
  return /dist\/(\w+)\//.exec(url)?.[1] ?? 'other';
}

const [width, rowHeight, top] = [1200, 17, 46];
const ours = new Set(['edge', 'backend', 'contracts', 'infra', 'test']);

/** The tree as an SVG flame graph: ours red, packages yellow, node grey; what is narrower than a pixel is left out. */
export function drawFlame(root: Frame, title: string): string {
  const parts: string[] = [];
  let deepest = 0;
  const draw = (frame: Frame, x: number, depth: number): void => {
    const wide = (frame.total / root.total) * width;
    if (wide < 1) return;
    deepest = Math.max(deepest, depth);
    const y = top + depth * rowHeight;
    const percent = ((100 * frame.total) / root.total).toFixed(1);
    const label = wide < 30 ? '' : escaped(frame.name.slice(0, Math.floor(wide / 6.6)));
    parts.push(
      `<g><title>${escaped(frame.name)} (${frame.group}): ${percent} %</title><rect x="${x.toFixed(1)}" y="${String(y)}" width="${Math.max(0.5, wide - 0.5).toFixed(1)}" height="${String(rowHeight - 1)}" fill="${colourOf(frame.group)}"/><text x="${(x + 3).toFixed(1)}" y="${String(y + 12)}">${label}</text></g>`,
    );
    let from = x;
    for (const callee of [...frame.callees].sort((a, b) => b.total - a.total)) {
      draw(callee, from, depth + 1);
      from += (callee.total / root.total) * width;
    }
  };
  draw(root, 0, 0);
  const height = top + (deepest + 1) * rowHeight + 8;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${String(width)}" height="${String(height)}" viewBox="0 0 ${String(width)} ${String(height)}">`,
    '<style>text{font:11px monospace;fill:#222}.title{font:bold 15px sans-serif}</style><rect width="100%" height="100%" fill="#fff"/>',
    `<text class="title" x="8" y="20">${escaped(title)}</text>`,
    `<text x="8" y="38">${(root.total / 1e6).toFixed(1)} s busy; red: ours, yellow: packages, grey: Node.js; the widest stand first</text>`,
    ...parts,
    '</svg>\n',
  ].join('\n');
}

const colourOf = (group: string) => (ours.has(group) ? '#e8846b' : group === 'node' ? '#c9ced6' : '#f0cf65');
const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
