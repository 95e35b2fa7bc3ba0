import { batchLimitFor, type DeviceKind } from '../../contracts/model.js';
import type { BackendConfig } from '../config.js';
import { findModels, loadModel } from './load.js';
import type { Model } from './model.js';
import { openDevice } from './session.js';
import { fileJournal } from './simulated-faults.js';
import { simulatedModel } from './simulated-model.js';

/** The models of one process and the device they share. */
export interface ServedModels {
  readonly device: { readonly kind: DeviceKind; readonly name: string };
  readonly models: readonly Model[];
  /** Images per second that the device did of each model when it was warmed up; a model that is left out is not known. */
  readonly rated: ReadonlyMap<string, number>;
  /** Resolves with the reason when the device is lost for good. */
  readonly failed: Promise<Error>;
  /** Awaits a run in flight, frees the sessions and the device. */
  close(): Promise<void>;
}

/**
 * Opens every model that the configuration asks for.
 * @throws Error saying which model cannot be served and why
 */
export async function openModels(config: BackendConfig): Promise<ServedModels> {
  if (config.simulatedDevice) return simulatedModels(config.simulatedDevice);
  const found = await findModels(config.modelDir, config.models.length > 0 ? config.models : undefined);
  if (found.length === 0) throw new Error(`there is no model in ${config.modelDir}; npm run models prepares two`);
  const device = openDevice({ kind: config.device, index: config.deviceIndex, threads: config.threads });
  try {
    const models: Model[] = [];
    for (const { name, version } of found) {
      const model = await loadModel(device, config.modelDir, name, version, { limitInputPixels: config.maxPixels });
      models.push(model);
    }
    return {
      device: { kind: device.kind, name: config.device },
      models,
      rated: await rateAll(models),
      failed: device.failed,
      close: () => device.close(),
    };
  } catch (error) {
    await device.close();
    throw error;
  }
}

/** Simulated models as the configuration describes them. */
function simulatedModels(simulated: NonNullable<BackendConfig['simulatedDevice']>): ServedModels {
  const { models: names, maxBatch, runLimitMs, baseMs, perImageMs, decodeMs, journal, ...faults } = simulated;
  const runJournal = journal === undefined ? {} : { runJournal: fileJournal(journal) };
  const models = names.map((name) =>
    simulatedModel({
      ...{ baseMs, perImageMs, decodeMs, faults, keepsJournal: false, ...runJournal },
      manifest: { name, runLimitMs, batch: { simulated: { max: maxBatch, maxWaitMs: 0 } } },
    }),
  );
  const batchMs = baseMs + perImageMs * maxBatch;
  return {
    device: { kind: 'simulated', name: 'simulated' },
    models,
    rated: new Map(batchMs > 0 ? names.map((name) => [name, (maxBatch * 1000) / batchMs]) : []),
    failed: new Promise(() => undefined),
    close: async () => {
      for (const model of models) await model.release();
    },
  };
}

/** Warms every model up; the second of two full batches says what the device can do, the first one pays for setting up. */
async function rateAll(models: readonly Model[]): Promise<ReadonlyMap<string, number>> {
  const rated = new Map<string, number>();
  for (const model of models) {
    await model.warmUp();
    const startedAt = performance.now();
    await model.warmUp();
    const seconds = (performance.now() - startedAt) / 1000;
    rated.set(model.manifest.name, batchLimitFor(model.manifest, model.device).max / seconds);
  }
  return rated;
}
