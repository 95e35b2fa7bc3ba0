import * as z from 'zod';

/** What a model is asked to do; it decides the parameters a request may carry and the form of the predictions. */
export const taskKindSchema = z.enum(['classify', 'tag', 'detect', 'caption', 'embed']);
export type TaskKind = z.infer<typeof taskKindSchema>;

/** The kinds of device a session runs on; the first three are onnxruntime's execution providers. */
export const deviceKindSchema = z.enum(['cpu', 'cuda', 'webgpu', 'simulated']);
export type DeviceKind = z.infer<typeof deviceKindSchema>;

export const modelNameSchema = z.string().regex(/^[a-z0-9-]{1,63}$/, 'a model name is 1 to 63 of a-z, 0-9 and -');
export const modelVersionSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,31}$/, 'a version is 1 to 32 of a-z, 0-9, dot, - and _');
const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/, 'a SHA-256 is 64 lower-case hexadecimal digits');

const batchLimitSchema = z.strictObject({
  /** Most images in one session run. */
  max: z.int().min(1).max(1024),
  /** Milliseconds that a free device waits for company; 0 runs at once. */
  maxWaitMs: z.number().min(0).max(1000).default(0),
});
export type BatchLimit = z.infer<typeof batchLimitSchema>;

/** An output of the graph; its first dimension is the batch, `shape` is the rest. */
const outputSchema = z.strictObject({ name: z.string(), shape: z.array(z.int().positive()) });

/** The file beside model.onnx that says what the model is and how it wants to be fed. */
export const modelManifestSchema = z.strictObject({
  name: modelNameSchema,
  version: modelVersionSchema,
  task: taskKindSchema,
  description: z.string(),
  /** SHA-256 of model.onnx. */
  sha256: sha256Schema,
  /** The one input, uint8 [N,height,width,3]; scaling, channel order and layout are the graph's business. */
  input: z.strictObject({
    name: z.string(),
    width: z.int().positive(),
    height: z.int().positive(),
    fit: z.enum(['fill', 'cover', 'contain']),
    kernel: z.enum(['nearest', 'linear', 'cubic', 'mitchell', 'lanczos2', 'lanczos3']),
    colour: z.literal('srgb'),
    /** Transparent pixels are laid over this colour. */
    background: z.string().regex(/^#[0-9a-f]{6}$/),
  }),
  outputs: z.array(outputSchema).min(1),
  labels: z.array(z.string()),
  /** Defaults of the parameters that a request leaves out; each belongs to the tasks that know it. */
  thresholds: z.strictObject({
    minScore: z.number().min(0).max(1).optional(),
    iou: z.number().min(0).max(1).optional(),
    top: z.int().min(1).optional(),
    maxDetections: z.int().min(1).optional(),
  }),
  batch: z.partialRecord(deviceKindSchema, batchLimitSchema),
  /** Milliseconds after which a run counts as hung. */
  runLimitMs: z.int().min(1).max(3_600_000),
  licence: z.string(),
  origin: z.string(),
});
export type ModelManifest = z.infer<typeof modelManifestSchema>;

/** The limit that holds where a manifest does not name a device kind. */
const cautiousBatchLimit: BatchLimit = { max: 1, maxWaitMs: 0 };

/** How many images a model takes in one run on a kind of device, and how long it waits for them. */
export function batchLimitFor(manifest: ModelManifest, device: DeviceKind): BatchLimit {
  return manifest.batch[device] ?? cautiousBatchLimit;
}
