import type { Model } from './model/model.js';

/** A run went on for longer than its model allows. It cannot be interrupted: only the end of the process ends it. */
export class RunLimitError extends Error {
  override readonly name = 'RunLimitError';
}

/** Runs images on a model. @throws RunLimitError once that goes past the model's limit, while it still goes on */
export async function withinRunLimit<T>(model: Model, images: number, run: () => Promise<T>): Promise<T> {
  const { name, runLimitMs } = model.manifest;
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new RunLimitError(`a run of ${name} with ${images} images took longer than ${runLimitMs} ms`));
    }, runLimitMs);
  });
  try {
    return await Promise.race([run(), limit]);
  } finally {
    clearTimeout(timer);
  }
}
