import * as z from 'zod';

const idSchema = z.string().regex(/^[0-9a-f]+$/);
const nanoseconds = z.string().regex(/^\d{1,20}$/);
const scalar = z.union([z.string(), z.number(), z.boolean()]);

/** A span as it is kept: ids are lower-case hexadecimal, times nanoseconds since the epoch, too long for a number. */
export const keptSpanSchema = z.object({
  traceId: idSchema,
  spanId: idSchema,
  /** Empty for a root. */
  parentSpanId: z.union([idSchema, z.literal('')]),
  name: z.string(),
  kind: z.enum(['internal', 'server', 'client', 'producer', 'consumer']),
  startNs: nanoseconds,
  endNs: nanoseconds,
  service: z.string(),
  instance: z.string(),
  attributes: z.record(z.string(), z.union([scalar, z.array(z.union([scalar, z.null()]))])),
  links: z.array(z.object({ traceId: idSchema, spanId: idSchema })),
  status: z.object({ code: z.enum(['unset', 'ok', 'error']), message: z.string() }),
});

export type KeptSpan = z.infer<typeof keptSpanSchema>;

/** Reads a span; undefined where it is none of ours. */
export function decodeKeptSpan(text: string): KeptSpan | undefined {
  try {
    return keptSpanSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Milliseconds that a span took. */
export function spanMs({ startNs, endNs }: Pick<KeptSpan, 'startNs' | 'endNs'>): number {
  return Number(BigInt(endNs) - BigInt(startNs)) / 1e6;
}

/** An edge's span of a whole request: how long it took, and whether it failed, is told by this one. */
export function isRequest({ kind }: KeptSpan): boolean {
  return kind === 'server';
}

/** Whether it could have been faster: who follows a task waits for as long as it asked to. */
export function tellsSlowness({ attributes }: KeptSpan): boolean {
  const route = attributes['http.route'];
  return typeof route !== 'string' || !route.startsWith('/v1/tasks/');
}

/** What else people know a span's trace by: the id of its request or of its task. */
export function namesOf({ attributes }: KeptSpan): string[] {
  const names = [attributes['sampan.request_id'], attributes['messaging.message.id']];
  return names.filter((name) => typeof name === 'string').filter((name) => /^\S{1,256}$/.test(name));
}
