import * as z from 'zod';
import { modelManifestSchema } from '../../contracts/model.js';
import { registrationSchema } from '../../contracts/register.js';

const manifest = modelManifestSchema.shape;

export const modelSummarySchema = z.strictObject({
  name: manifest.name,
  version: manifest.version,
  task: manifest.task,
  description: manifest.description,
  input: manifest.input.pick({ width: true, height: true }),
  labelCount: z.int().min(0),
  params: manifest.thresholds.meta({
    description: 'Parameters that a request may carry, with the values that hold where it leaves them out.',
  }),
  liveConsumers: z.int().min(0),
});
export type ModelSummary = z.infer<typeof modelSummarySchema>;

export const modelListSchema = z.strictObject({ models: z.array(modelSummarySchema) });
export type ModelList = z.infer<typeof modelListSchema>;

const consumerSchema = z.strictObject({
  consumer: registrationSchema.shape.consumer,
  device: registrationSchema.shape.device,
  tasksPerSecond: z
    .number()
    .min(0)
    .meta({ description: 'What it can do, not what it happens to do; 0 where that is not known yet.' }),
});

export const modelDetailsSchema = modelSummarySchema.extend({
  sha256: manifest.sha256,
  input: manifest.input,
  outputs: manifest.outputs,
  labels: manifest.labels,
  thresholds: manifest.thresholds,
  batch: manifest.batch,
  licence: manifest.licence,
  origin: manifest.origin,
  consumers: z.array(consumerSchema),
});
export type ModelDetails = z.infer<typeof modelDetailsSchema>;
