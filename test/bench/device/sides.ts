import { scrape } from '../../exposition.js';
import type { Generator } from '../http/start-generator.js';
import { cpuDuring } from '../process-cpu.js';
import type { Side } from '../rounds.js';
import type { Ours } from '../whole-path/ours.js';
import type { BareLoop } from '../whole-path/start-loop.js';
import { accountBetween } from './device-account.js';
import { watchCard } from './device-facts.js';

/** Batches of ours by their size, as many as ran in all rounds together: at most so many images → batches. */
export type Batches = Map<number, number>;

interface Common {
  readonly images: number;
  /** The name by which nvidia-smi knows the device. */
  readonly card: string;
  readonly batches: Batches;
}

interface OursSideOptions extends Common {
  readonly ours: Ours;
  /** Says what inference alone costs the host's CPU. */
  readonly loop: BareLoop;
  /** One per edge. */
  readonly generators: readonly Generator[];
  /** Of each generator. */
  readonly callers: number;
  readonly files: readonly string[];
  readonly model: string;
}

/** The whole path under as many callers as it can serve. */
export function oursSide(options: OursSideOptions): Side {
  const { ours, loop, card, batches, images, model } = options;
  const [metricsUrl = ''] = ours.metricsUrls;
  const pids = { edge: ours.edgePids, backend: ours.backendPids, redis: ours.redisPids };
  return {
    name: 'ours',
    measure: async () => {
      const inferMicros = await inferenceMicros(loop, images);
      const before = await scrape(metricsUrl);
      const smi = watchCard(card);
      const { result: seconds, micros } = await cpuDuring(pids, () => sendAll(options));
      const busy = await smi.end();
      const account = accountBetween(before, await scrape(metricsUrl), model);
      for (const { atMost, batches: count } of account.sizes) batches.set(atMost, (batches.get(atMost) ?? 0) + count);
      const cores = (micro = 0) => micro / 1e6 / seconds;
      return {
        perSecond: account.images / seconds,
        deviceUse: (100 * account.seconds) / seconds,
        batchSize: account.images / account.batches,
        ...{ decodeMs: account.decodeSeconds * 1000, backendCores: cores(micros['backend']) },
        // What the backend took beyond inference: decoding, and a little for reading and settling.
        decodeCores: cores((micros['backend'] ?? 0) - inferMicros * account.images),
        ...{ edgeCores: cores(micros['edge']), redisCores: cores(micros['redis']) },
        ...(busy === undefined ? {} : { smi: busy }),
      };
    },
  };
}

/** CPU µs of the host per image that is inferred, with nothing else going on. */
async function inferenceMicros(loop: BareLoop, images: number): Promise<number> {
  const { result, micros } = await cpuDuring({ loop: loop.pid }, () => loop.run({ what: 'infer', images }));
  return (micros['loop'] ?? 0) / result.images;
}

/** Seconds that all of it took. @throws Error where not everything was answered */
async function sendAll({ ours, generators, callers, files, images }: OursSideOptions): Promise<number> {
  const reports = await Promise.all(
    generators.map((generator, i) =>
      generator.send({
        ...{ origins: [ours.origins[i] ?? ''], method: 'POST', paths: [ours.path], files: [...files], unique: true },
        headers: { 'content-type': 'image/jpeg' },
        pace: { kind: 'closed', callers, requests: Math.ceil(images / generators.length) },
      }),
    ),
  );
  for (const { statuses, requests } of reports) {
    if (statuses['200'] !== requests) throw new Error(`not all were answered: ${JSON.stringify(statuses)}`);
  }
  return Math.max(...reports.map(({ seconds }) => seconds));
}

/** The same device with decoding ahead of it and nothing else. */
export function loopSide({ loop, images, card }: Common & { readonly loop: BareLoop }): Side {
  return {
    name: 'bare loop',
    measure: async () => {
      const inferMicros = await inferenceMicros(loop, images);
      const smi = watchCard(card);
      const { result, micros } = await cpuDuring({ loop: loop.pid }, () => loop.run({ what: 'whole', images }));
      const busy = await smi.end();
      const { seconds, deviceSeconds = Number.NaN, batches = Number.NaN } = result;
      const cpu = micros['loop'] ?? 0;
      return {
        perSecond: images / seconds,
        ...{ deviceUse: (100 * deviceSeconds) / seconds, batchSize: images / batches },
        ...{ backendCores: cpu / 1e6 / seconds, decodeCores: (cpu - inferMicros * images) / 1e6 / seconds },
        ...(busy === undefined ? {} : { smi: busy }),
      };
    },
  };
}
