import type { DeviceKind } from '../../contracts/model.js';
import type { BackendConfig } from '../config.js';
import type { Model } from './model.js';
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

/** Simulated models as the configuration describes them. */
export function simulatedModels(simulated: NonNullable<BackendConfig['simulatedDevice']>): ServedModels {
  const { baseMs, perImageMs, maxBatch } = simulated;
  const models = simulated.models.map((name) =>
    simulatedModel({
      ...{ baseMs, perImageMs },
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
