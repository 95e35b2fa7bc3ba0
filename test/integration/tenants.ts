import type { Redis } from 'ioredis';
import { simulatedManifest } from '../../backend/model/simulated-model.js';
import { createApiKey } from '../../contracts/api-key.js';
import { publishModels } from '../../contracts/catalogue.js';
import { grantSchema } from '../../contracts/grant.js';
import { register } from '../../contracts/register.js';

/** A key of a tenant that may do nearly everything, unless told otherwise. */
export function keyOf(stream: Redis, tenant: string, more: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const grant = grantSchema.parse({
    ...{ tenant, tier: 'free', permissions: ['predict', 'tasks'] },
    limits: { perSecond: 10_000, burst: 10_000, atOnce: 100 },
    ...more,
  });
  return createApiKey(stream, { grant, label: tenant });
}

/** Puts a model into the catalogue whose only consumer is written by hand: its tasks wait. */
export async function serveByNobody(stream: Redis, name: string, tasksPerSecond = 10): Promise<void> {
  const manifest = simulatedManifest({ name });
  await publishModels(stream, [manifest]);
  const consumer = `by-hand-${name}`;
  await register(
    stream,
    {
      ...{ v: 1, consumer, device: { kind: 'simulated', name: 'none' }, state: 'ready' },
      models: [{ model: name, version: manifest.version, tasksPerSecond }],
      ...{ memory: { residentBytes: 1 }, startedAt: 0, lastReadAt: 0 },
    },
    Date.now(),
  );
  // Tests take longer than a registration lives.
  await stream.persist(`sampan:consumer:${consumer}`);
}

export interface Asked {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed where it is JSON. Whatever was answered; tests assert its members one by one. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any;
}

/** Asks an edge with a key. */
export async function ask(url: string, key: string, init: RequestInit = {}): Promise<Asked> {
  const headers = { ...(init.headers as Record<string, string> | undefined), authorization: `Bearer ${key}` };
  const response = await fetch(url, { ...init, headers });
  const text = await response.text();
  const body: unknown =
    /^[[{]/.test(text) && !/ndjson/.test(response.headers.get('content-type') ?? '') ? JSON.parse(text) : text;
  return { status: response.status, headers: response.headers, body };
}
