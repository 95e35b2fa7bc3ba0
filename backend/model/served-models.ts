import type { DeviceKind } from '../../contracts/model.js';
import type { BackendConfig } from '../config.js';
import { findModels, loadModel } from './load.js';
import type { Model } from './model.js';
import { openDevice } from './session.js';
import { simulatedModel } from './simulated-model.js';

/** The models of one process and the device they share. */
export interface ServedModels {
  readonly device: { readonly kind: DeviceKind; readonly name: string };
  readonly models: readonly Model[];
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
  const device = openDevice({ kind: config.device, threads: config.threads });
  try {
    const models: Model[] = [];
    for (const { name, version } of found) {
      const model = await loadModel(device, config.modelDir, name, version, { limitInputPixels: config.maxPixels });
      await model.warmUp();
      models.push(model);
    }
    return {
      device: { kind: device.kind, name: config.device },
      models,
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
  const { baseMs, perImageMs, maxBatch } = simulated;
  const models = simulated.models.map((name) =>
    simulatedModel({
      ...{ baseMs, perImageMs, keepsJournal: false },
      manifest: { name, batch: { simulated: { max: maxBatch, maxWaitMs: 0 } } },
    }),
  );
  return {
    device: { kind: 'simulated', name: 'simulated' },
    models,
    failed: new Promise(() => undefined),
    close: async () => {
      for (const model of models) await model.release();
    },
  };
}
