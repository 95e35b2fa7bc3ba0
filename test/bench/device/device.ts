import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { findModels } from '../../../backend/model/load.js';
import { smiDevice } from '../../../backend/memory/nvidia-smi-line.js';
import { batchLimitFor, modelManifestSchema, type ModelManifest } from '../../../contracts/model.js';
import { preparedModels } from '../../prepared-models.js';
import type { Bench, BenchOptions, Measured } from '../bench.js';
import { startGenerator, type Generator } from '../http/start-generator.js';
import { interleaved } from '../rounds.js';
import { withSurroundings, type Surroundings } from '../surroundings.js';
import { withBenchPhotos } from '../whole-path/bench-photos.js';
import type { LoopSettings } from '../whole-path/loop-orders.js';
import { startOurs } from '../whole-path/ours.js';
import { startLoop } from '../whole-path/start-loop.js';
import { deviceFacts } from './device-facts.js';
import { deviceEnvironment } from './environment.js';
import { deviceSettingsSchema, pickDevice, type Picked } from './pick-device.js';
import { reportOf } from './report.js';
import { loopSide, oursSide, type Batches } from './sides.js';

export const device: Bench = {
  name: 'device',
  about:
    'The whole path on the device that is there (SAMPAN_DEVICE, else the fastest of cuda, webgpu and cpu), as one ' +
    'backend process drives it, beside a bare loop of the same decoding and session on the same device.',
  run: (options) =>
    withBenchPhotos(async (files) => {
      const [modelDir, model] = [await preparedModels(), 'nsfw'];
      const manifest = await manifestOf(modelDir, model);
      return measureDevice({ modelDir, manifest, files, env: deviceEnvironment(process.env), options });
    }),
};

/** What is measured, with what. */
interface Task {
  readonly modelDir: string;
  readonly manifest: ModelManifest;
  readonly files: readonly string[];
  /** What reaches the device, and sizes the parts. */
  readonly env: Readonly<Record<string, string>>;
  readonly options: BenchOptions;
}

async function manifestOf(modelDir: string, model: string): Promise<ModelManifest> {
  const version = (await findModels(modelDir, [model]))[0]?.version ?? '';
  return modelManifestSchema.parse(JSON.parse(await readFile(join(modelDir, model, version, 'manifest.json'), 'utf8')));
}

async function measureDevice(task: Task): Promise<Measured> {
  const { modelDir, manifest, files, env, options } = task;
  const {
    SAMPAN_DEVICE: wanted,
    SAMPAN_DEVICE_INDEX: deviceIndex,
    SAMPAN_THREADS: threads,
  } = deviceSettingsSchema.parse(env);
  const loopSettings = { modelDir, model: manifest.name, deviceIndex, threads, files: [...files] };
  // The least that a loop wants: a thread of libuv's for each core that decodes.
  const loopEnv = { UV_THREADPOOL_SIZE: String(Math.max(4, availableParallelism())), ...env };
  const picked = await pickDevice(loopSettings, wanted, loopEnv, options.say);
  const edges = Math.min(4, Math.ceil(availableParallelism() / 8));
  const generators = Array.from({ length: edges }, startGenerator);
  try {
    return await withSurroundings((here) =>
      measureBeside(here, generators, { ...task, picked, threads, loopEnv, loopSettings }),
    );
  } finally {
    for (const generator of generators) await generator.stop();
  }
}

async function measureBeside(
  here: Surroundings,
  generators: readonly Generator[],
  task: Task & {
    readonly picked: Picked;
    readonly threads: number;
    readonly loopEnv: Readonly<Record<string, string>>;
    readonly loopSettings: Omit<LoopSettings, 'device'>;
  },
): Promise<Measured> {
  const { modelDir, manifest, files, env, options, picked, threads, loopEnv, loopSettings } = task;
  const { device: kind } = picked;
  const loop = await startLoop(here, { ...loopSettings, device: kind }, loopEnv);
  const ours = await startOurs(here, {
    ...{ modelDir, model: manifest.name, backends: 1, threads, edges: generators.length },
    backendEnv: { ...env, SAMPAN_DEVICE: kind },
  });
  const { max } = batchLimitFor(manifest, kind);
  const pilot = await loop.run({ what: 'whole', images: 16 * max });
  const images = Math.ceil((pilot.images / pilot.seconds) * (options.quick ? 0.5 : 4));
  // So many that the stream never runs dry: two batches are held, and as many are on their way there and back.
  const callers = Math.ceil((6 * max) / generators.length);
  const card = smiDevice(loopSettings.deviceIndex ?? 0, env['CUDA_VISIBLE_DEVICES']);
  const batches: Batches = new Map();
  const common = { images, card, batches };
  const sides = [
    oursSide({ ...common, ours, loop, generators, callers, files, model: manifest.name }),
    loopSide({ ...common, loop }),
  ];
  const rounds = await interleaved(sides, { rounds: options.rounds, warmUps: 1, say: options.say });
  const { UV_THREADPOOL_SIZE: pool = 'as shipped' } = env;
  return reportOf(rounds, {
    ...{ batches, tried: picked.tried, facts: await deviceFacts(kind, card) },
    settings: {
      ...{ provider: kind, model: `${manifest.name}@${manifest.version}`, batchLimit: max, images },
      ...{ callers: callers * generators.length, edges: generators.length, backends: 1, threads, backendPool: pool },
      loopPool: loopEnv['UV_THREADPOOL_SIZE'] ?? '',
    },
  });
}
