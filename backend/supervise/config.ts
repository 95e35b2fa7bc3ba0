import { availableParallelism, hostname } from 'node:os';
import * as z from 'zod';

export type Environment = Readonly<Record<string, string | undefined>>;

const whole = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,5}$/, `expected a whole number from ${min} to ${max}`)
    .transform(Number)
    .pipe(z.number().min(min).max(max));
const port = whole(0, 65_535);

const environmentSchema = z
  .object({
    SAMPAN_PROCESSES: whole(1, 64).default(1),
    SAMPAN_DEVICE_INDEX: whole(0, 1024).default(0),
    HEALTH_PORT: port.default(8788),
    METRICS_PORT: port.default(9465),
    SAMPAN_CONSUMER: z.string().default(`${hostname().replace(/[^A-Za-z0-9.-]/g, '-')}-${process.pid}`),
    CUDA_DEVICE_ORDER: z.string().default('PCI_BUS_ID'),
    SAMPAN_LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  })
  .check(({ value, issues }) => {
    for (const name of ['HEALTH_PORT', 'METRICS_PORT'] as const) {
      const last = value[name] + value.SAMPAN_PROCESSES - 1;
      if (last <= 65_535) continue;
      issues.push({ code: 'custom', input: value, path: [name], message: `the last process would get ${last}` });
    }
  });

/** What a supervisor was told, checked and frozen. */
export type SupervisorConfig = Readonly<z.infer<typeof environmentSchema>>;

/**
 * Reads what concerns the supervisor; all else is the backends' own to check.
 * @throws Error naming each variable that is wrong and what is allowed
 */
export function loadSupervisorConfig(environment: Environment): SupervisorConfig {
  // A variable that is set to nothing counts as not set.
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = environmentSchema.safeParse(given);
  if (parsed.success) return Object.freeze(parsed.data);
  const lines = parsed.error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`);
  throw new Error(`the configuration is not usable:\n${lines.join('\n')}`);
}

/** The environment of each backend: a device, ports and a name of its own, and all else as the supervisor has it. */
export function childEnvironments(
  environment: Environment,
  config: SupervisorConfig,
  cores = availableParallelism(),
): readonly Environment[] {
  const { SAMPAN_PROCESSES: processes, SAMPAN_CONSUMER: consumer } = config;
  return Array.from({ length: processes }, (_, i) => ({
    ...environment,
    SAMPAN_DEVICE_INDEX: String(config.SAMPAN_DEVICE_INDEX + i),
    HEALTH_PORT: portOf(config.HEALTH_PORT, i),
    METRICS_PORT: portOf(config.METRICS_PORT, i),
    // nvidia-smi counts cards by their place on the bus; CUDA by speed, unless told otherwise.
    CUDA_DEVICE_ORDER: config.CUDA_DEVICE_ORDER,
    // Images are decoded in libuv's threads: four, unless told otherwise, however many cores a card has to itself.
    UV_THREADPOOL_SIZE: environment['UV_THREADPOOL_SIZE'] || decodingThreads(cores / processes),
    // Two consumers of one name would take each other's entries for their own. Who comes after one that died has its
    // name, and so knows what it left.
    SAMPAN_CONSUMER: processes > 1 ? `${consumer}-${i}` : consumer,
  }));
}

/** A container's share of a large machine may be less than the cores that it sees, and each thread holds an image. */
const decodingThreads = (cores: number) => String(Math.min(32, Math.max(2, Math.ceil(cores))));

/** 0 means any free port, for every process. */
const portOf = (first: number, i: number): string => String(first === 0 ? 0 : first + i);
