import { availableParallelism, hostname } from 'node:os';
import * as z from 'zod';
import { deviceKindSchema, modelNameSchema } from '../contracts/model.js';
import { simulatedFaultsSchema } from './model/simulated-faults.js';

const whole = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, `expected a whole number from ${String(min)} to ${String(max)}`)
    .transform(Number)
    .pipe(z.number().min(min).max(max));
const port = whole(0, 65_535);
const count = whole(1, 2 ** 49);
const redisUrl = z
  .string('is required, such as redis://127.0.0.1:6379')
  .regex(/^rediss?:\/\//, 'must begin with redis:// or rediss://');

/** A simulated device instead of real models, for tests and benchmarks. */
const simulatedDeviceSchema = z.strictObject({
  models: z.array(modelNameSchema).min(1),
  baseMs: z.number().min(0).default(0),
  perImageMs: z.number().min(0).default(0),
  decodeMs: z.number().min(0).default(0),
  maxBatch: z.int().min(1).max(1024).default(32),
  runLimitMs: z.int().min(1).max(3_600_000).default(30_000),
  /** Path of a file to which the device writes what it ran. */
  journal: z.string().min(1).optional(),
  ...simulatedFaultsSchema.shape,
});

const json = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue({ code: 'custom', message: 'is not JSON' });
    return z.NEVER;
  }
});

const environmentSchema = z
  .object({
    REDIS_URL: redisUrl,
    CACHE_REDIS_URL: redisUrl.optional(),
    SAMPAN_HOST: z.string().default('127.0.0.1'),
    HEALTH_PORT: port.default(8788),
    METRICS_PORT: port.default(9465),
    MODEL_DIR: z.string().default('.models'),
    MODELS: z
      .string()
      .default('')
      .transform((text) => text.split(',').filter((name) => name !== ''))
      .pipe(z.array(modelNameSchema)),
    SAMPAN_DEVICE: deviceKindSchema.exclude(['simulated']).default('cpu'),
    SAMPAN_DEVICE_INDEX: whole(0, 1024).default(0),
    CUDA_VISIBLE_DEVICES: z.string().optional(),
    SAMPAN_PROCESSES: whole(1, 64).default(1),
    SAMPAN_THREADS: whole(1, 256).default(availableParallelism()),
    SAMPAN_SIMULATED_DEVICE: json.pipe(simulatedDeviceSchema).optional(),
    SAMPAN_CONSUMER: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,128}$/)
      .optional(),
    SAMPAN_MAX_PIXELS: count.default(50_000_000),
    SAMPAN_BATCH_BYTES: count.default(32 * 1024 * 1024),
    SAMPAN_MEMORY_BYTES: count.optional(),
    SAMPAN_MEMORY_PAUSE_PERCENT: whole(2, 100).default(90),
    SAMPAN_MEMORY_RESUME_PERCENT: whole(1, 99).default(80),
    SAMPAN_MEMORY_STUCK_SECONDS: whole(1, 86_400).default(30),
    SAMPAN_LEASE_MS: whole(100, 600_000).default(5000),
    SAMPAN_RESULT_SECONDS: count.default(60),
    SAMPAN_DEAD_SECONDS: whole(1, 315_360_000).default(86_400),
    SAMPAN_CACHE: z.enum(['on', 'off']).default('on'),
    SAMPAN_CACHE_SECONDS: count.default(86_400),
    SAMPAN_DRAIN_SECONDS: whole(1, 86_400).default(30),
    SAMPAN_TRACE_STORE: z.enum(['on', 'off']).default('off'),
    SAMPAN_LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  })
  .refine((env) => env.SAMPAN_MEMORY_RESUME_PERCENT < env.SAMPAN_MEMORY_PAUSE_PERCENT, {
    path: ['SAMPAN_MEMORY_RESUME_PERCENT'],
    error: 'must be less than SAMPAN_MEMORY_PAUSE_PERCENT',
  });

/** What a backend process was told, checked and frozen. */
export type BackendConfig = Readonly<ReturnType<typeof readable>>;

/**
 * Reads the configuration from an environment.
 * @throws Error naming each variable that is wrong and what is allowed
 */
export function loadConfig(environment: Readonly<Record<string, string | undefined>>): BackendConfig {
  // A variable that is set to nothing counts as not set.
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = environmentSchema.safeParse(given);
  if (parsed.success) return Object.freeze(readable(parsed.data));
  const lines = parsed.error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`);
  throw new Error(`the configuration is not usable:\n${lines.join('\n')}`);
}

function readable(env: z.infer<typeof environmentSchema>) {
  return {
    redisUrl: env.REDIS_URL,
    cacheRedisUrl: env.CACHE_REDIS_URL ?? env.REDIS_URL,
    host: env.SAMPAN_HOST,
    healthPort: env.HEALTH_PORT,
    metricsPort: env.METRICS_PORT,
    modelDir: env.MODEL_DIR,
    /** Names of the models to serve; empty for all that are there. */
    models: env.MODELS,
    device: env.SAMPAN_DEVICE,
    /** Which of several devices of that kind. */
    deviceIndex: env.SAMPAN_DEVICE_INDEX,
    cudaVisibleDevices: env.CUDA_VISIBLE_DEVICES,
    /** Backends that one supervisor started on this host; they share its memory. */
    processes: env.SAMPAN_PROCESSES,
    /** CPU threads of one session run. */
    threads: env.SAMPAN_THREADS,
    simulatedDevice: env.SAMPAN_SIMULATED_DEVICE,
    consumer: env.SAMPAN_CONSUMER ?? `${hostname().replace(/[^A-Za-z0-9.-]/g, '-')}-${String(process.pid)}`,
    maxPixels: env.SAMPAN_MAX_PIXELS,
    batchBytes: env.SAMPAN_BATCH_BYTES,
    /** Most memory of this process, where the device is the CPU; undefined for what the container or the host has. */
    memoryBytes: env.SAMPAN_MEMORY_BYTES,
    /** Fractions of the head-room after warm-up at which reading is paused, and goes on. */
    memoryPauseAt: env.SAMPAN_MEMORY_PAUSE_PERCENT / 100,
    memoryResumeAt: env.SAMPAN_MEMORY_RESUME_PERCENT / 100,
    /** Milliseconds after which a process that holds nothing and is still above is replaced. */
    memoryStuckMs: env.SAMPAN_MEMORY_STUCK_SECONDS * 1000,
    /** Milliseconds that a delivery may stay silent before others may claim it. */
    leaseMs: env.SAMPAN_LEASE_MS,
    resultSeconds: env.SAMPAN_RESULT_SECONDS,
    /** How long dead letters and their images are kept. */
    deadSeconds: env.SAMPAN_DEAD_SECONDS,
    cache: env.SAMPAN_CACHE === 'on',
    cacheSeconds: env.SAMPAN_CACHE_SECONDS,
    drainMs: env.SAMPAN_DRAIN_SECONDS * 1000,
    /** Whether sampled traces are kept in the cache role. */
    traceStore: env.SAMPAN_TRACE_STORE === 'on',
    logLevel: env.SAMPAN_LOG_LEVEL,
  };
}
