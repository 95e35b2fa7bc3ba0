import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { leash } from '../../../infra/setup/leash.js';

const long = process.env['SAMPAN_TEST_LONG'] === '1';

/** Runs the suite as `npm run chaos` does; resolves with its exit code and all that it printed. */
async function chaos(...args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const main = fileURLToPath(new URL('../../chaos/main.js', import.meta.url));
  const child = spawn(process.execPath, ['--enable-source-maps', main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  // What is ended with SIGTERM ends what it started itself.
  after(() => child.kill('SIGTERM'));
  const unleash = child.pid === undefined ? () => undefined : leash(child.pid);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  unleash();
  return { code, output };
}

test('chaos: under every fault nothing is lost, run twice without a reason, or left over, and memory stays flat', async (t) => {
  const { code, output } = await chaos('--seconds', long ? '300' : '30', '--seed', '7');
  for (const line of output.split('\n')) t.diagnostic(line);
  assert.equal(code, 0, output);
});

// `npm test` sees the rule itself at work in test/chaos/verdict.test; this is the whole run, which takes its time.
if (long) {
  test('chaos: a run in which a fault is kept from striking fails, and says which', async () => {
    const { code, output } = await chaos(
      ...['--seconds', '4', '--model', 'simulated', '--only', 'FLUSHALL', '--keep-from-striking', 'FLUSHALL'],
    );
    assert.equal(code, 1, output);
    assert.match(output, /simulated device: FAILED\n {2}- did not strike: FLUSHALL/);
  });
}
