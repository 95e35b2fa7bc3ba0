import { join } from 'node:path';
import { Redis } from 'ioredis';
import { createApiKey } from '../../contracts/api-key.js';
import { endedUnasked, startChild, untilReady, type Child } from './child.js';
import { demonstrate, samplePhoto } from './demonstration.js';
import { freePort } from './free-port.js';
import { prepareModels } from './models.js';
import { ensureRedisServer, type RedisServer } from './redis-server.js';
import { startRedis, type RedisRole, type RunningRedis } from './start-redis.js';
import type { Terminal } from './terminal.js';

/** What the steps share. */
export interface Surroundings {
  /** The repository's folder. */
  readonly root: string;
  readonly env: NodeJS.ProcessEnv;
  /** Folder for logs and Redis's data. */
  readonly runDir: string;
  readonly terminal: Terminal;
  /** Everything that was started so far, in the order of starting; the steps add to it. */
  readonly started: { readonly redis: RunningRedis[]; readonly children: Child[] };
  /** Called with words for people when something that was started is gone. */
  readonly ended: (what: string) => void;
}

interface Ports {
  readonly edge: number;
  readonly health: number;
  readonly edgeMetrics: number;
  readonly backendMetrics: number;
}

type Say = (what: string) => void;

const readyLimitMs = 60_000;

/** Sets up and starts everything, step by step, and shows it at work. @throws Error for people */
export async function bringUp(here: Surroundings): Promise<void> {
  const { root, env, terminal } = here;
  const modelDir = env['MODEL_DIR'] ?? join(root, '.models');
  const server = await terminal.step('Redis', (say) => redisProgram(here, say));
  await terminal.step('Models', (say) => prepareModels(root, modelDir, env, say));
  const redisUrls = await terminal.step('Streams', (say) => startRoles(here, server, say));
  const ports = await choosePorts(env);
  const settings = { ...withDefaults(env), ...redisUrls, MODEL_DIR: modelDir };
  await terminal.step('Backend', (say) => startBackend(here, settings, ports, say));
  await terminal.step('Edge', (say) => startEdge(here, settings, ports, say));
  const key = await keyFor(settings);
  const shown = await terminal.step('Photo', () => demonstrate(root, local(ports.edge), key));
  console.log(['', ...shown, '', ...whereabouts(here, ports, { redisUrls, key })].join('\n'));
}

/** A key for the newcomer, where the edge was told to ask for one. */
async function keyFor(settings: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (settings['SAMPAN_AUTH'] !== 'on') return undefined;
  const tiers: unknown = JSON.parse(settings['SAMPAN_TIERS'] ?? '{}');
  const [tier = 'standard'] = typeof tiers === 'object' && tiers !== null ? Object.keys(tiers) : [];
  const client = new Redis(settings['REDIS_URL'] ?? '');
  try {
    return await createApiKey(client, {
      grant: { tenant: 'newcomer', tier, permissions: ['predict', 'tasks'] },
      label: 'npm start',
    });
  } finally {
    client.disconnect();
  }
}

async function redisProgram({ root, env }: Surroundings, say: Say): Promise<RedisServer | undefined> {
  if (env['REDIS_URL']) {
    say('REDIS_URL is set, nothing to start');
    return undefined;
  }
  const server = await ensureRedisServer(join(root, '.cache', 'redis'), say);
  say(`${server.product} ${server.version} (${server.binary})`);
  return server;
}

async function startRoles(
  here: Surroundings,
  server: RedisServer | undefined,
  say: Say,
): Promise<Record<string, string>> {
  if (!server) {
    say('not ours');
    return {};
  }
  const startRole = async (role: RedisRole) => {
    const running = await startRedis({ role, binary: server.binary, dir: join(here.runDir, `redis-${role}`) });
    here.started.redis.push(running);
    void running.exited.then(() => here.ended(`Redis (${role}) ended; its log: ${running.logFile}`));
    return running.url;
  };
  const urls: Record<string, string> = { REDIS_URL: await startRole('stream') };
  if (!here.env['CACHE_REDIS_URL']) urls['CACHE_REDIS_URL'] = await startRole('cache');
  say(here.started.redis.map(({ role, port }) => `${role} role on port ${port}`).join(', '));
  return urls;
}

/** The usual ports, each stepped around where somebody else has it. */
async function choosePorts(env: NodeJS.ProcessEnv): Promise<Ports> {
  const taken = new Set<number>();
  const choose = async (preferred: number) => {
    const port = await freePort(preferred, taken);
    taken.add(port);
    return port;
  };
  const metrics = Number(env['METRICS_PORT'] ?? 9464);
  return {
    edge: await choose(Number(env['PORT'] ?? 8787)),
    health: await choose(Number(env['HEALTH_PORT'] ?? 8788)),
    edgeMetrics: await choose(metrics),
    backendMetrics: await choose(metrics + 1),
  };
}

/** On a newcomer's machine every trace is taken and kept, and an MD5 alone may be looked up. */
function withDefaults(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const sampling = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '1.0' };
  const own = { SAMPAN_LOOKUP_MD5_ONLY: 'true', SAMPAN_TRACE_STORE: 'on' };
  return { ...(env['OTEL_TRACES_SAMPLER'] ? {} : sampling), ...own, ...env };
}

async function startBackend(here: Surroundings, settings: NodeJS.ProcessEnv, ports: Ports, say: Say): Promise<void> {
  say('loading and warming up the models');
  const env = { ...settings, HEALTH_PORT: String(ports.health), METRICS_PORT: String(ports.backendMetrics) };
  await startPart(here, 'backend', 'dist/backend/main.js', env, local(ports.health));
  say('one process, ready');
}

async function startEdge(here: Surroundings, settings: NodeJS.ProcessEnv, ports: Ports, say: Say): Promise<void> {
  const env = { ...settings, PORT: String(ports.edge), METRICS_PORT: String(ports.edgeMetrics) };
  await startPart(here, 'edge', 'dist/edge.mjs', env, local(ports.edge));
  say(local(ports.edge));
}

async function startPart(
  { root, runDir, started, ended }: Surroundings,
  name: string,
  script: string,
  env: NodeJS.ProcessEnv,
  address: string,
): Promise<void> {
  const child = startChild(name, join(root, script), env, join(runDir, `${name}.log`));
  started.children.push(child);
  void child.exited.then((how) => ended(endedUnasked(child, how)));
  await untilReady(child, address, readyLimitMs);
}

function whereabouts(
  { terminal, runDir }: Surroundings,
  ports: Ports,
  { redisUrls, key }: { readonly redisUrls: Readonly<Record<string, string>>; readonly key: string | undefined },
): string[] {
  const [edge, backend] = [local(ports.edge), local(ports.health)];
  // One that is not ours is in the newcomer's environment already, and may hold a password.
  const cacheUrl = redisUrls['CACHE_REDIS_URL'];
  return [
    terminal.bold('Try it'),
    `  curl --data-binary @${samplePhoto} -H 'content-type: image/jpeg' ${key === undefined ? '' : `-H 'x-api-key: ${key}' `}${edge}/v1/models/coco/predict`,
    `  ${cacheUrl === undefined ? '' : `CACHE_REDIS_URL=${cacheUrl} `}npm run -s ops -- trace slowest`,
    '',
    terminal.bold('Where things are'),
    `  docs      ${edge}/docs`,
    `  models    ${edge}/v1/models`,
    `  edge      ${edge}/readyz    metrics ${local(ports.edgeMetrics)}/metrics`,
    `  backend   ${backend}/readyz    metrics ${local(ports.backendMetrics)}/metrics`,
    ...Object.entries(redisUrls).map(([name, url]) => `  Redis     ${name}=${url}`),
    `  logs      ${runDir}`,
    '',
    terminal.dim('Ctrl-C ends everything.'),
  ];
}

function local(port: number): string {
  return `http://127.0.0.1:${port}`;
}
