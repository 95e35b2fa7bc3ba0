import * as z from 'zod';
import { countTo1000Schema, unitIntervalSchema } from '../../contracts/params.js';

/** Every parameter that there is; which of them a model takes follows from its task. */
export const paramSchemas = {
  top: countTo1000Schema.meta({ description: 'How many labels, best first (classify).' }),
  minScore: unitIntervalSchema.meta({ description: 'The least score that is told (classify, tag, detect).' }),
  iou: unitIntervalSchema.meta({ description: 'Overlap above which the weaker of two boxes goes (detect).' }),
  maxDetections: countTo1000Schema.meta({ description: 'How many boxes at most (detect).' }),
};
export const paramsSchema = z.strictObject(paramSchemas).partial();

const base64Image = z
  .base64()
  .meta({ contentEncoding: 'base64', description: 'Standard, padded, without line breaks; no data: URL.' });
const file = z
  .string()
  .meta({ contentMediaType: 'application/octet-stream', description: 'The bytes of the picture.' });

export const jsonUploadSchema = z.strictObject({ image: base64Image, params: paramsSchema.optional() });
export const formUploadSchema = paramsSchema.extend({ image: file });
export const batchFormSchema = paramsSchema.extend({
  image: z.array(file).min(1).meta({ description: 'One part a picture, all of this name, behind the parameters.' }),
});
