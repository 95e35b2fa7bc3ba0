import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const logger = new URL('../../../infra/process/logger.js', import.meta.url).href;

/** Runs a script beside the compiled sources, with `log` at hand; answers its lines on stdout, parsed. */
async function linesOf(script: string): Promise<Record<string, unknown>[]> {
  const source = `import { createLogger } from '${logger}'; const log = createLogger({ level: 'info', name: 'edge' }); ${script}`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', source], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    maxBuffer: 1 << 26,
  });
  return stdout.trimEnd().split('\n').map(parse);
}

function parse(line: string): Record<string, unknown> {
  const value: unknown = JSON.parse(line);
  assert.ok(typeof value === 'object' && value !== null);
  return { ...value };
}

test('a line is JSON with its level in words, the name of the part and the process', async () => {
  const [line] = await linesOf(`log.debug('not shown'); log.warn({ model: 'coco' }, 'hello');`);
  assert.deepEqual(
    { ...line, pid: 0, time: 0 },
    {
      level: 'warn',
      time: 0,
      pid: 0,
      name: 'edge',
      model: 'coco',
      msg: 'hello',
    },
  );
  assert.equal(typeof line?.['time'], 'number');
});

test('lines that were not written yet are written when the process exits by itself or by process.exit', async () => {
  const many = `for (let i = 0; i < 5000; i += 1) log.info({ i }, 'line');`;
  for (const end of ['', 'process.exit(0);']) {
    const lines = await linesOf(many + end);
    assert.deepEqual(
      lines.map((line) => line['i']),
      Array.from({ length: 5000 }, (_, i) => i),
    );
  }
});

test('an error is told with its message and stack', async () => {
  const [line] = await linesOf(`log.error({ err: new RangeError('too far') }, 'failed');`);
  assert.match(JSON.stringify(line?.['err']), /RangeError.*too far.*stack/);
});

test('records of one kind are written as the logger itself would, and left out where it would leave them out', async () => {
  const record = String.raw`{ requestId: 'a "b" \n\u2028 é', bytes: undefined, status: 200, ms: 1.5, nested: { a: [null] } }`;
  const lines = await linesOf(
    `const { recordWriter } = await import('${logger}'); const record = ${record};
    recordWriter(log, 'request')(record); log.info(record, 'request');
    log.level = 'warn'; recordWriter(log, 'request')(record);`,
  );
  assert.equal(lines.length, 2);
  const [ours, theirs] = lines.map((line) => JSON.stringify({ ...line, time: 0 }));
  assert.equal(ours, theirs);
});
