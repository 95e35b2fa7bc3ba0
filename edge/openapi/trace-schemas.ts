import * as z from 'zod';
import { keptSpanSchema } from '../../contracts/kept-span.js';
import { partNames } from '../../contracts/trace-parts.js';

const partSchema = z.enum(partNames);
const milliseconds = z.number().min(0);

/** One trace in a list. */
export const traceSummarySchema = z.strictObject({
  traceId: z.string(),
  start: z.iso.datetime(),
  ms: milliseconds.optional().meta({ description: 'Left out where the span of the request is not kept (yet).' }),
  status: z.string(),
  model: z.string(),
  requestId: z.string(),
});
export const traceListSchema = z.strictObject({ traces: z.array(traceSummarySchema) });
export type TraceList = z.infer<typeof traceListSchema>;

const verdictSchema = z.strictObject({
  text: z.string(),
  main: z.strictObject({ part: partSchema, ms: milliseconds, share: z.number().min(0).max(1) }),
  unusual: z.array(z.strictObject({ part: partSchema, ms: milliseconds, usualMs: milliseconds })),
  known: z.int().min(0).meta({ description: 'Other requests to the model that it was held against.' }),
});

/** One trace, where its time went, and what of that is unusual. */
export const traceSchema = z.strictObject({
  traceId: z.string(),
  request: z
    .strictObject({
      model: z.string(),
      totalMs: milliseconds,
      parts: z.record(partSchema, milliseconds).meta({ description: 'They add up to the whole.' }),
      verdict: verdictSchema,
    })
    .optional(),
  spans: z.array(keptSpanSchema),
});
export type TraceAnswer = z.infer<typeof traceSchema>;
