import * as z from 'zod';
import { defaultTiers, tiersSchema } from './access/tiers.js';

const whole = (fallback: number, min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, `expected a whole number from ${min} to ${max}`)
    .transform(Number)
    .pipe(z.number().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`))
    .default(fallback);

const flag = (on: string, off: string, fallback: boolean) =>
  z
    .enum([on, off], `expected ${on} or ${off}`)
    .transform((value) => value === on)
    .default(fallback);

const redisUrl = z.string().regex(/^rediss?:\/\/\S+$/, 'expected a URL such as redis://127.0.0.1:6379');
const MiB = 1024 * 1024;

const loopback = new Set(['127.0.0.1', '::1', 'localhost']);

const tiers = z
  .string()
  .transform((text, context) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      context.addIssue({ code: 'custom', message: 'expected JSON' });
      return z.NEVER;
    }
  })
  .pipe(tiersSchema)
  .default(defaultTiers);

const corsOrigins = z
  .string()
  .transform((text) => text.split(',').map((origin) => origin.trim()))
  .refine((origins) => origins.every(isOrigin) || (origins.length === 1 && origins[0] === '*'), {
    error: ({ input }) => {
      const wrong = Array.isArray(input) ? input.filter((origin) => !isOrigin(origin)) : [];
      return `expected * alone, or scheme://host[:port] as browsers write them, separated by commas; not ${wrong.map((origin) => `"${String(origin)}"`).join(', ')}`;
    },
  })
  .default([]);

/** An origin that never matches would be a puzzle: hosts are in lower case, and the scheme's own port is left out. */
function isOrigin(text: unknown): boolean {
  if (typeof text !== 'string' || !/^[a-z][a-z0-9+.-]*:\/\/[^/?#@\\\s]+$/.test(text) || !URL.canParse(text))
    return false;
  const { origin, protocol } = new URL(text);
  return origin === text || !/^https?:$/.test(protocol);
}

/** Every variable that the edge reads, by its name. */
const variables = z.object({
  SAMPAN_HOST: z.string().default('127.0.0.1'),
  PORT: whole(8787, 0, 65_535),
  METRICS_PORT: whole(9464, 0, 65_535),
  REDIS_URL: z.string('is required, such as redis://127.0.0.1:6379').pipe(redisUrl),
  CACHE_REDIS_URL: redisUrl.optional(),
  SAMPAN_MAX_BODY_BYTES: whole(10 * MiB, 1024, 512 * MiB),
  SAMPAN_MAX_PIXELS: whole(50_000_000, 1, 1_000_000_000),
  SAMPAN_DEFAULT_TIMEOUT_MS: whole(10_000, 1, 3_600_000),
  SAMPAN_MAX_TIMEOUT_MS: whole(60_000, 1, 3_600_000),
  SAMPAN_ASYNC_TIMEOUT_MS: whole(600_000, 1, 86_400_000),
  SAMPAN_ASYNC_RESULT_SECONDS: whole(3600, 1, 30 * 86_400),
  SAMPAN_MAX_FOLLOWERS: whole(1000, 1, 1_000_000),
  SAMPAN_SHARE_MS: whole(2000, 1, 3_600_000),
  SAMPAN_MAX_BATCH_IMAGES: whole(1000, 1, 10_000),
  SAMPAN_MAX_BATCHES: whole(32, 1, 10_000),
  SAMPAN_MAX_TASKS: whole(10_000, 1, 100_000_000),
  SAMPAN_MAX_TASK_BYTES: whole(1024 * MiB, 1, 2 ** 50 - 1),
  SAMPAN_CACHE: flag('on', 'off', true),
  SAMPAN_CACHE_TIMEOUT_MS: whole(50, 1, 10_000),
  SAMPAN_LOOKUP_MD5_ONLY: flag('true', 'false', false),
  SAMPAN_AUTH: z.enum(['on', 'off', 'open'], 'expected on, off or open').default('off'),
  SAMPAN_TIERS: tiers,
  SAMPAN_LIMITS_TIMEOUT_MS: whole(250, 1, 10_000),
  SAMPAN_JWT_SECRET: z.string().min(32, 'must have 32 characters or more').optional(),
  SAMPAN_JWKS_URL: z
    .url({ protocol: /^https?$/, error: 'expected a URL such as https://login.example.com/keys' })
    .optional(),
  SAMPAN_JWT_ISSUER: z.string().optional(),
  SAMPAN_JWT_AUDIENCE: z.string().optional(),
  SAMPAN_CORS_ORIGINS: corsOrigins,
  SAMPAN_TRACE_STORE: flag('on', 'off', false),
  SAMPAN_LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
});

const configSchema = variables
  .refine((env) => env.SAMPAN_DEFAULT_TIMEOUT_MS <= env.SAMPAN_MAX_TIMEOUT_MS, {
    path: ['SAMPAN_DEFAULT_TIMEOUT_MS'],
    error: 'must not be greater than SAMPAN_MAX_TIMEOUT_MS',
  })
  .refine((env) => env.SAMPAN_AUTH !== 'off' || loopback.has(env.SAMPAN_HOST), {
    path: ['SAMPAN_AUTH'],
    error: 'must be on where SAMPAN_HOST is not loopback; "open" lets everybody in',
  })
  .refine((env) => env.SAMPAN_JWT_SECRET === undefined || env.SAMPAN_JWKS_URL === undefined, {
    path: ['SAMPAN_JWKS_URL'],
    error: 'and SAMPAN_JWT_SECRET exclude each other',
  })
  .refine((env) => env.SAMPAN_JWKS_URL === undefined || env.SAMPAN_JWT_AUDIENCE !== undefined, {
    path: ['SAMPAN_JWT_AUDIENCE'],
    error: 'is required beside SAMPAN_JWKS_URL, or tokens for other services would do',
  })
  .refine((env) => !env.SAMPAN_JWKS_URL?.startsWith('http:') || loopback.has(new URL(env.SAMPAN_JWKS_URL).hostname), {
    path: ['SAMPAN_JWKS_URL'],
    error: 'must be https where it is not on this host',
  })
  .transform((env) =>
    Object.freeze({
      host: env.SAMPAN_HOST,
      /** 0 takes any free port; the same for metricsPort. */
      port: env.PORT,
      metricsPort: env.METRICS_PORT,
      redisUrl: env.REDIS_URL,
      cacheRedisUrl: env.CACHE_REDIS_URL ?? env.REDIS_URL,
      /** Most bytes of an encoded image, in every form of body. */
      maxBodyBytes: env.SAMPAN_MAX_BODY_BYTES,
      maxPixels: env.SAMPAN_MAX_PIXELS,
      defaultTimeoutMs: env.SAMPAN_DEFAULT_TIMEOUT_MS,
      maxTimeoutMs: env.SAMPAN_MAX_TIMEOUT_MS,
      /** Milliseconds that a request may take whose caller comes back for the result, and seconds past that for which it is kept. */
      asyncTimeoutMs: env.SAMPAN_ASYNC_TIMEOUT_MS,
      asyncResultSeconds: env.SAMPAN_ASYNC_RESULT_SECONDS,
      /** Requests of one tenant that may follow tasks on this edge at a time. */
      maxFollowers: env.SAMPAN_MAX_FOLLOWERS,
      /** Milliseconds of a model's consumers that one tenant's batches and asynchronous requests may fill at a time. */
      shareMs: env.SAMPAN_SHARE_MS,
      maxBatchImages: env.SAMPAN_MAX_BATCH_IMAGES,
      /** Batches under way on this edge at a time: each holds a picture or two in memory. */
      maxBatches: env.SAMPAN_MAX_BATCHES,
      /** Most admitted tasks, and their bytes, per model. */
      maxTasks: env.SAMPAN_MAX_TASKS,
      maxTaskBytes: env.SAMPAN_MAX_TASK_BYTES,
      cache: env.SAMPAN_CACHE,
      cacheTimeoutMs: env.SAMPAN_CACHE_TIMEOUT_MS,
      lookupMd5Only: env.SAMPAN_LOOKUP_MD5_ONLY,
      /** Whether callers must show a key or a token. */
      auth: env.SAMPAN_AUTH === 'on',
      tiers: env.SAMPAN_TIERS,
      limitsTimeoutMs: env.SAMPAN_LIMITS_TIMEOUT_MS,
      jwt: { issuer: env.SAMPAN_JWT_ISSUER, audience: env.SAMPAN_JWT_AUDIENCE, jwksUrl: env.SAMPAN_JWKS_URL },
      /** Never printed. */
      jwtSecret: env.SAMPAN_JWT_SECRET,
      /** Origins whose scripts may read answers; `*` alone: all of them. */
      corsOrigins: env.SAMPAN_CORS_ORIGINS,
      /** Whether sampled traces are kept in the cache role. */
      traceStore: env.SAMPAN_TRACE_STORE,
      logLevel: env.SAMPAN_LOG_LEVEL,
    }),
  );

export type EdgeConfig = z.output<typeof configSchema>;

/**
 * Reads the edge's configuration, once; a variable that is set to nothing counts as not set.
 * @throws Error with one line per variable that is missing or wrong
 */
export function loadConfig(env: Readonly<Record<string, string | undefined>>): EdgeConfig {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  const parsed = configSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new Error(parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('\n'));
}
