/**
 * `npm run chaos -- --seconds 30 --seed 7`: real processes under load and faults, and the account at the end; then a
 * short run with a real model. Ends with 1 and the reasons where a promise was broken.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { preparedModels } from '../prepared-models.js';
import { serverBinary } from '../redis.js';
import { allFaults, fewFaults, type Fault } from './faults.js';
import { runChaos, type RunOptions } from './run.js';
import { onnxLoad, simulatedLoad } from './times.js';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '30' },
    seed: { type: 'string', default: '7' },
    /** Only this one: simulated or onnx. */
    model: { type: 'string' },
    /** Of the faults, only these, by their names. */
    only: { type: 'string', multiple: true, default: [] },
    /** Keeps a fault from striking, by its name: the run must fail. */
    'keep-from-striking': { type: 'string', multiple: true, default: [] },
    /** Folder in which logs, records and journal stay. */
    keep: { type: 'string' },
  },
});

type Setting = Pick<RunOptions, 'seed' | 'kept' | 'say'> & { readonly redisBinary: string };

const chosen = (faults: readonly Fault[]) =>
  faults.filter(({ name }) => values.only.length === 0 || values.only.includes(name));

const setting: Setting = {
  seed: Number(values.seed),
  kept: new Set(values['keep-from-striking']),
  say: (line) => console.log(line),
  redisBinary: await serverBinary(),
};
const reasons = [
  ...(values.model === 'onnx' ? [] : await runChaos(simulated(setting))),
  ...(values.model === 'simulated' ? [] : await runChaos(await onnx(setting))),
];
process.exit(reasons.length === 0 ? 0 : 1);

function simulated({ redisBinary, ...shared }: Setting): RunOptions {
  const { device, backends, maxTasks, ratePerSecond, mostInFlight, warmUpMs } = simulatedLoad;
  const model = 'chaos';
  return {
    ...shared,
    ...{
      title: 'simulated device',
      seconds: Number(values.seconds),
      faults: chosen(allFaults),
      warmUpMs,
      keepsJournal: true,
    },
    dir: values.keep === undefined ? undefined : join(values.keep, 'simulated'),
    world: {
      ...{ redisBinary, model, backends, maxTasks },
      clients: { ratePerSecond, mostInFlight, pictures: 'simulated' },
      backendEnv: (journal) => ({
        SAMPAN_SIMULATED_DEVICE: JSON.stringify({ models: [model], ...device, journal }),
      }),
    },
  };
}

async function onnx({ redisBinary, ...shared }: Setting): Promise<RunOptions> {
  const { backends, maxTasks, ratePerSecond, mostInFlight, seconds, warmUpMs } = onnxLoad;
  const modelDir = await preparedModels();
  return {
    ...shared,
    ...{ title: 'real model', seconds, faults: chosen(fewFaults), warmUpMs, keepsJournal: false },
    dir: values.keep === undefined ? undefined : join(values.keep, 'onnx'),
    world: {
      ...{ redisBinary, model: 'nsfw', backends, maxTasks },
      clients: { ratePerSecond, mostInFlight, pictures: 'photos' },
      backendEnv: () => ({ MODEL_DIR: modelDir, MODELS: 'nsfw', SAMPAN_THREADS: '1' }),
    },
  };
}
