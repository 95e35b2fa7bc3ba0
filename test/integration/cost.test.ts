import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { simulatedModel } from '../../backend/model/simulated-model.js';
import { digestsOf } from '../../edge/digest.js';
import { openConnection } from '../bench/http/connection.js';
import { copiesDuring } from '../copies.js';
import { picture } from '../pictures.js';
import { startWireCounter, type WireCount } from '../wire-counter.js';
import { servedBy, testSystem, until } from './system.js';

/**
 * What one request costs, as far as no machine changes it. The least that would do, and what each number is made of,
 * stands in test/bench/README.md; whoever raises a bound here says there what for.
 */
const model = 'counted';
const system = await testSystem();
const concerns = (sent: Buffer) => ['{counted:', 'sampan:cache:', '{edge:'].some((text) => sent.includes(text));
const way = async (url: string) =>
  startWireCounter(Number(new URL(url).port), concerns, (end) => {
    after(end);
  });
const { REDIS_URL: streamUrl = '', CACHE_REDIS_URL: cacheUrl = '' } = system.env;
const ways = {
  edgeStream: await way(streamUrl),
  edgeCache: await way(cacheUrl),
  backendStream: await way(streamUrl),
  backendCache: await way(cacheUrl),
};
const edge = await system.edge({ REDIS_URL: ways.edgeStream.url, CACHE_REDIS_URL: ways.edgeCache.url });
const longLease = { SAMPAN_LEASE_MS: '600000' };
await system.backend(servedBy(simulatedModel({ manifest: { name: model } })), {
  ...longLease,
  REDIS_URL: ways.backendStream.url,
  CACHE_REDIS_URL: ways.backendCache.url,
});
const { hostname, port } = new URL(edge.url);
const connection = await openConnection(hostname, Number(port));
after(() => connection.close());

let made = 0;
const fresh = (bytes: number) => picture(`cost-${String(made++)}`, bytes);
const remembered = async () =>
  until(
    () => system.cache.dbsize(),
    (size) => size === made,
  );

async function ask(method: 'GET' | 'POST', path: string, body?: Buffer): Promise<void> {
  const length = body ? `content-length: ${String(body.length)}\r\n` : '';
  const head = `${method} /v1/models/${model}/${path} HTTP/1.1\r\nhost: ${hostname}\r\n${length}\r\n`;
  assert.equal(await connection.ask(head, body), 200);
}

/** Averages of requests that were made one after the other, once all they left to do is done. */
async function wireOf(bodies: readonly Buffer[]) {
  takeAll();
  for (const body of bodies) await ask('POST', 'predict', body);
  await remembered();
  return takeAll(bodies.length);
}

function takeAll(among = 1) {
  const share = ({ sent, received, turns }: WireCount) => ({
    ...{ sent: sent / among, received: received / among, turns: turns / among },
  });
  const { edgeStream, edgeCache, backendStream, backendCache } = ways;
  return {
    ...{ edgeStream: share(edgeStream.take()), edgeCache: share(edgeCache.take()) },
    ...{ backendStream: share(backendStream.take()), backendCache: share(backendCache.take()) },
  };
}

/** What is sent while the server has yet to speak saves a turn, and a read that found nothing for a second adds one. */
const about = (turns: number, expected: number) =>
  assert.ok(turns < expected + 0.5 && turns > 0.8 * expected, `${String(turns)} round trips, not ${String(expected)}`);

test('a miss takes the edge one round trip to the cache and one to the stream, and the consumer four and one', async () => {
  await wireOf([fresh(0)]);
  const wire = await wireOf(Array.from({ length: 50 }, () => fresh(20_000)));
  about(wire.edgeCache.turns, 1);
  about(wire.edgeStream.turns, 1);
  // A read, the images, the leave, the reply; each once for a whole batch.
  about(wire.backendStream.turns, 4);
  about(wire.backendCache.turns, 1);
});

test('the wire carries a picture once each way, and beside it as much for a large one as for a small one', async () => {
  const requests = 20;
  for (const bytes of [20_000, 400_000]) {
    const bodies = Array.from({ length: requests }, () => fresh(bytes));
    const image = bodies.reduce((sum, body) => sum + body.length, 0) / requests;
    const wire = await wireOf(bodies);
    const beside = {
      edgeSends: wire.edgeStream.sent - image,
      edgeReceives: wire.edgeStream.received,
      consumerSends: wire.backendStream.sent,
      consumerReceives: wire.backendStream.received - image,
      cached: wire.edgeCache.sent + wire.edgeCache.received + wire.backendCache.sent + wire.backendCache.received,
    };
    for (const [what, most] of Object.entries({
      ...{ edgeSends: 1700, edgeReceives: 700, consumerSends: 1700, consumerReceives: 900, cached: 650 },
    })) {
      const bytesBeside = beside[what as keyof typeof beside];
      assert.ok(bytesBeside > 0 && bytesBeside <= most, `${what}: ${String(bytesBeside)} bytes beside the picture`);
    }
  }
});

test('a hit and a lookup take one round trip to the cache, and none to the stream', async () => {
  const body = fresh(20_000);
  await ask('POST', 'predict', body);
  await remembered();
  const digests = digestsOf(body);
  takeAll();
  await ask('POST', 'predict', body);
  await ask('GET', `results/${digests.md5}?sha256=${digests.sha256}`);
  const { edgeCache, edgeStream } = takeAll();
  assert.deepEqual([edgeCache.turns, edgeStream.turns], [2, 0]);
});

/** The commands on the model's or the edge's keys while one miss is answered: its own, and those of timers that fell in. */
async function commandsOfMiss() {
  const monitor = await system.stream.monitor();
  const seen: { readonly by: 'client' | 'script'; readonly command: string }[] = [];
  monitor.on('monitor', (_time: string, [command = '', ...args]: readonly string[], source: string) => {
    const own = args.some((arg) => arg.includes('{counted:') || arg.includes('{edge:'));
    if (own) seen.push({ by: source === 'lua' ? 'script' : 'client', command: command.toLowerCase() });
  });
  await ask('POST', 'predict', fresh(20_000));
  await until(
    () => seen.some(({ command }) => command === 'spublish'),
    (published) => published,
  );
  monitor.disconnect();
  return seen.filter(({ command }) => command !== 'xreadgroup');
}

test('a miss is five commands on its keys, in which the scripts run nineteen', async () => {
  const misses = [];
  for (let miss = 0; miss < 5; miss++) misses.push(await commandsOfMiss());
  // Heartbeats and gauges send commands of their own now and then, so the miss that met the fewest is looked at.
  const [least = []] = misses.sort((a, b) => a.length - b.length);
  const names = (by: string) => least.filter((one) => one.by === by).map(({ command }) => command);
  assert.deepEqual(names('client'), ['mset', 'evalsha', 'mget', 'evalsha', 'spublish']);
  assert.deepEqual(names('script'), [
    ...['hsetnx', 'exists', 'hmget', 'xadd', 'hset', 'hget', 'hget', 'hset'],
    ...['hmget', 'xack', 'xdel', 'del', 'hdel', 'hincrby', 'hdel', 'hdel', 'hincrby', 'hdel', 'set'],
  ]);
});

test('a picture is copied twice at the edge, joined and put into a command, and once at the consumer, out of a reply', async () => {
  const body = fresh(400_000);
  const copies = await copiesDuring(200_000, () => ask('POST', 'predict', body));
  assert.deepEqual(
    copies.map(({ by, bytes }) => [by, bytes]),
    [
      ['Buffer.concat', body.length],
      ['copy', body.length],
      ['Buffer.concat', body.length],
    ],
  );
});

test("the edge's own part bundles to less than 270 kB, of which a start loads 215, and brings no server's libraries", async () => {
  const entry = fileURLToPath(new URL('../../edge/app.js', import.meta.url));
  const { metafile } = await build({
    ...{
      entryPoints: [entry],
      bundle: true,
      minify: true,
      write: false,
      metafile: true,
      outdir: 'app',
      splitting: true,
    },
    ...{ platform: 'neutral', format: 'esm', mainFields: ['module', 'main'], external: ['node:*'], logLevel: 'error' },
  });
  const all = Object.keys(metafile.outputs);
  const sizeOf = (paths: readonly string[]) =>
    paths.reduce((sum, path) => sum + (metafile.outputs[path]?.bytes ?? 0), 0);
  assert.ok(sizeOf(all) < 270_000, `${String(sizeOf(all))} bytes`);
  const first = all.filter((path) => metafile.outputs[path]?.entryPoint?.endsWith('edge/app.js'));
  const loaded = new Set(first);
  for (const path of loaded) {
    for (const { kind, path: next } of metafile.outputs[path]?.imports ?? [])
      if (kind !== 'dynamic-import') loaded.add(next);
  }
  assert.ok(first.length === 1 && sizeOf([...loaded]) < 215_000, `${String(sizeOf([...loaded]))} bytes`);
  const foreign = Object.keys(metafile.inputs).filter((path) => /sharp|onnxruntime|sdk-node|ioredis|pino/.test(path));
  assert.deepEqual(foreign, []);
});
