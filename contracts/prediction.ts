import * as z from 'zod';

const labelledSchema = z.strictObject({ label: z.string(), score: z.number() });

/** Best first; scores are probabilities. */
export const classifyPredictionsSchema = z.array(labelledSchema);
export const tagPredictionsSchema = z.array(labelledSchema);
/** Boxes are [x, y, width, height] in pixels of the upright original. */
export const detectPredictionsSchema = z.array(
  labelledSchema.extend({ box: z.tuple([z.number(), z.number(), z.number(), z.number()]) }),
);
export const captionPredictionsSchema = z.strictObject({ text: z.string() });
export const embedPredictionsSchema = z.strictObject({ vector: z.array(z.number()) });

export const predictionsSchema = z.union([
  detectPredictionsSchema,
  classifyPredictionsSchema,
  tagPredictionsSchema,
  captionPredictionsSchema,
  embedPredictionsSchema,
]);
/** What a model says about one image; which form it has follows from the model's task. */
export type Predictions = z.infer<typeof predictionsSchema>;
export type Detection = z.infer<typeof detectPredictionsSchema>[number];
export type Labelled = z.infer<typeof labelledSchema>;
