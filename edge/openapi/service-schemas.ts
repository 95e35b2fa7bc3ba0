import * as z from 'zod';

export const liveSchema = z.strictObject({ status: z.literal('live') });
export type Live = z.infer<typeof liveSchema>;

export const readySchema = z.strictObject({ status: z.literal('ready'), reasons: z.array(z.string()).max(0) });
export const notReadySchema = z.strictObject({ status: z.literal('not ready'), reasons: z.array(z.string()).min(1) });
export type ReadyAnswer = z.infer<typeof readySchema> | z.infer<typeof notReadySchema>;

export const openApiVersion = '3.1.1';

/** Of this document only what makes it one: the rest is OpenAPI's business. */
export const documentSchema = z.looseObject({
  openapi: z.literal(openApiVersion),
  info: z.looseObject({ title: z.string(), version: z.string() }),
  paths: z.record(z.string(), z.unknown()),
  components: z.record(z.string(), z.unknown()),
});

export const pageSchema = z.string().regex(/^<!doctype html>/);

/** Server-sent events: a state at every change, and a comment where nothing has been said for long. */
export const eventStreamSchema = z.string().regex(/^(event: state\n(id: end\n)?data: \{.*\}\n\n|: still there\n\n)+$/);

/** One JSON object a line. */
export const linesSchema = z.string().regex(/^(\{.*\}\n)+$/);
