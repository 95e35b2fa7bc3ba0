import type { ModelManifest } from '../../../contracts/model.js';

/** One model that can be prepared: what its manifest says, and how its graph is made. */
export interface Recipe {
  /** Everything but the hash, which is that of the bytes that were written. */
  readonly manifest: Omit<ModelManifest, 'sha256'>;
  /** The bytes of model.onnx. */
  build(): Uint8Array;
}

/** Raised when the converter writes another graph for the same source, so that prepared models are made anew. */
const converterRevision = 1;

/** Where a model comes from, as its manifest states it. */
export function originOf(packageName: string, version: string, file: string): string {
  return `${packageName}@${version}, ${file}, converted to ONNX (revision ${String(converterRevision)})`;
}
