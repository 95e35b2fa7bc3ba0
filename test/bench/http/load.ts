import * as z from 'zod';

/** Requests that a generator sends. */
export const httpLoadSchema = z.strictObject({
  /** Origins that take turns, such as http://127.0.0.1:8787. */
  origins: z.array(z.string()).min(1),
  method: z.string().default('GET'),
  /** With its query; `paths` take turns. */
  paths: z.array(z.string()).min(1),
  headers: z.record(z.string(), z.string()).default({}),
  /** Files whose bytes are bodies, in turns. */
  files: z.array(z.string()).default([]),
  /** Whether each body gets eight bytes behind its end that no other has: another picture to every digest. */
  unique: z.boolean().default(false),
  pace: z.discriminatedUnion('kind', [
    /** So many callers, each waiting for its answer before it asks again. */
    z.strictObject({ kind: z.literal('closed'), callers: z.int(), requests: z.int() }),
    /** Poisson arrivals, whether answers come or not; latency counts from when a request was due. */
    z.strictObject({ kind: z.literal('open'), perSecond: z.number(), seconds: z.number(), seed: z.int() }),
  ]),
  /**
   * Connections to each origin that are open before the first request. A server that is kept busy accepts new ones
   * slowly, so that an overload would wait in the operating system and not in the server.
   */
  connections: z.int().default(0),
  /** Answers of 200 later than this are not goodput. */
  withinMs: z.number().default(10_000),
});
export type HttpLoad = z.input<typeof httpLoadSchema>;

export const httpReportSchema = z.strictObject({
  requests: z.int(),
  seconds: z.number(),
  statuses: z.record(z.string(), z.int()),
  /** Answers of 200 in time, per second. */
  goodput: z.number(),
  /** Of the answers of 200. */
  p50Ms: z.number(),
  p99Ms: z.number(),
  meanMs: z.number(),
  /** Share of the time in which the generator's own event loop was busy. */
  busy: z.number(),
  cpuMicros: z.number(),
});
export type HttpReport = z.infer<typeof httpReportSchema>;
