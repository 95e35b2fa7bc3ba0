import { Redis } from 'ioredis';
import { answerBytes } from '../../../contracts/answer.js';
import { encodeCached } from '../../../contracts/cached.js';
import { cacheKey } from '../../../contracts/keys.js';
import { canonicalParams, parseParams } from '../../../contracts/params.js';
import { workKey } from '../../../contracts/task.js';
import { simulatedManifest } from '../../../backend/model/simulated-model.js';
import { VoidRun } from '../bench.js';
import type { HttpSide } from '../http/http-side.js';
import { cpuDuring } from '../process-cpu.js';
import type { Side } from '../rounds.js';
import { cpuMicrosOfRedis } from './redis-account.js';

/** What is asked, of whom, and the servers whose CPU counts as Redis's. */
export interface Asked {
  readonly name: string;
  readonly point: number;
  readonly server: HttpSide['server'];
  readonly redis: readonly Redis[];
  readonly generator: HttpSide['generator'];
  readonly load: HttpSide['load'];
}

/** Beyond this share of answers other than 200 a stretch does not count, and the third one voids the run. */
const mostOthers = 0.01;
const tries = 3;

/** As any HTTP side, at a point of the horizontal axis, and with Redis's CPU by its own account: of a lookup it takes little. */
export function measuredAt(asked: Asked): Side {
  const { name, point, server, redis, generator, load } = asked;
  const send = () => generator.send({ ...load, origins: [server.url] });
  const redisMicros = async () => (await Promise.all(redis.map(cpuMicrosOfRedis))).reduce((sum, each) => sum + each, 0);
  const measure = async () => {
    for (let i = 0; i < tries; i++) {
      const before = await redisMicros();
      const { result, micros } = await cpuDuring({ server: server.pid }, send);
      const { requests, seconds, statuses, p50Ms, p99Ms, busy } = result;
      if (requests - (statuses['200'] ?? 0) > requests * mostOthers) continue;
      const [own, theirs] = [(micros['server'] ?? 0) / requests, ((await redisMicros()) - before) / requests];
      return {
        ...{ server: own, redis: theirs, sum: own + theirs, perSecond: requests / seconds },
        ...{ p50: p50Ms, p99: p99Ms, generator: busy },
      };
    }
    throw new VoidRun(`${name} was not answered with 200, ${String(tries)} times in a row`);
  };
  return { name, point, measure };
}

/** Callers that ask at a time. */
const callers = 32;

/** Lookups of answers that are in the cache, each of another entry as far as there are enough. */
export function lookups(model: string, entries: number, requests: number): HttpSide['load'] {
  const asked = Math.min(entries, mostPaths);
  const paths = Array.from({ length: asked }, (_, i) => {
    const { md5, sha256 } = digestsOf(Math.floor((i * entries) / asked));
    return `/v1/models/${model}/results/${md5}?sha256=${sha256}`;
  });
  return { paths, pace: { kind: 'closed', callers, requests } };
}

const mostPaths = 20_000;

/** Fills a cache with answers of about 300 bytes that an edge finds by {@link lookups}. */
export async function fillCache(url: string, model: string, entries: number): Promise<void> {
  const client = new Redis(url);
  const together = 1000;
  for (let from = 0; from < entries; from += together) {
    const pipeline = client.pipeline();
    for (let i = from; i < Math.min(entries, from + together); i++) {
      const { key, value } = entryOf(model, i);
      pipeline.set(key, value, 'EX', 86_400);
    }
    for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
  }
  if ((await client.dbsize()) !== entries) throw new Error('the cache does not hold all entries');
  client.disconnect();
}

function entryOf(model: string, number: number): { key: string; value: Buffer } {
  const { md5, sha256 } = digestsOf(number);
  const canonical = canonicalParams(parseParams(simulatedManifest({ name: model }), {}));
  const work = workKey({ scope: 'shared', model, version: '1', md5 }, canonical);
  const predictions = Buffer.from(
    JSON.stringify([0.9, 0.05, 0.03].map((score, i) => ({ label: `label ${String(i)}`, score }))),
  );
  const timing = { queueMs: 1.1, decodeMs: 7.4, batchWaitMs: 3.2, inferMs: 11.2, batchSize: 4 };
  const id = `${model}.0.019ad4c2-0000-7000-8000-${number.toString(16).padStart(12, '0')}`;
  const answer = answerBytes({ id, model, version: '1', task: 'classify', cache: 'hit', predictions, timing });
  return { key: cacheKey(work), value: encodeCached(sha256, 2_000_000_000, [answer]) };
}

/** Made up: nobody hashes here. */
function digestsOf(number: number) {
  const digits = number.toString(16);
  return { md5: digits.padStart(32, '0'), sha256: digits.padStart(64, '0') };
}

/** Pictures that nobody sent before, to a model that answers at once. */
export const predicts = (
  predict: Omit<HttpSide['load'], 'pace'>,
  file: string,
  requests: number,
): HttpSide['load'] => ({
  ...{ ...predict, files: [file], unique: true, pace: { kind: 'closed', callers, requests } },
});
