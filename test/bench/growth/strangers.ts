import { Redis } from 'ioredis';
import { publishModels } from '../../../contracts/catalogue.js';
import type { ModelManifest } from '../../../contracts/model.js';
import { register, type Registration } from '../../../contracts/register.js';
import { simulatedManifest } from '../../../backend/model/simulated-model.js';

/** Models in the catalogue, each with a consumer in the register that says that it lives, and takes nothing. */
export interface Strangers {
  stop(): Promise<void>;
}

/** Well within the life of a registration. */
const tellEveryMs = 2000;

/** Resolves once all have been told of. */
export async function startStrangers(url: string, models: readonly string[]): Promise<Strangers> {
  const client = new Redis(url, { enableAutoPipelining: true });
  const manifests = models.map((name) => simulatedManifest({ name }));
  if (manifests.length > 0) await publishModels(client, manifests);
  const tell = async () => {
    await Promise.all(manifests.map((manifest) => register(client, registrationOf(manifest), Date.now())));
  };
  await tell();
  let telling = Promise.resolve();
  const timer = setInterval(() => {
    telling = tell().catch(() => undefined);
  }, tellEveryMs);
  return {
    stop: async () => {
      clearInterval(timer);
      await telling;
      client.disconnect();
    },
  };
}

function registrationOf({ name, version }: ModelManifest): Registration {
  return {
    ...{ v: 1, consumer: `stranger-${name}`, device: { kind: 'simulated', name: 'simulated' }, state: 'ready' },
    // Of one whose rate is not known nobody is shed for the wait.
    models: [{ model: name, version, tasksPerSecond: 0 }],
    ...{ memory: { residentBytes: 100_000_000 }, startedAt: Date.now(), lastReadAt: Date.now() },
  };
}
