import { catalogueRevision, readCatalogue, type Catalogue } from '../contracts/catalogue.js';
import { Failure } from '../contracts/failure.js';
import type { ModelManifest } from '../contracts/model.js';
import { liveConsumers, type Registration } from '../contracts/register.js';
import type { StreamClient } from '../contracts/scripts/scripts.js';
import type { Clock } from './deps.js';
import { within } from './within.js';

/** The models that exist and the consumers that serve them, as last read; reading it costs no command. */
export interface ModelView {
  catalogue(): Catalogue;
  /** Consumers that live, take work, and hold this very version. */
  consumers(manifest: ModelManifest): readonly Registration[];
  /** Tasks per second that the consumers of a model's active version report together; 0 where that is not known. */
  tasksPerSecond(model: string): number;
  /**
   * Reads again, once for all who ask at a time and not more often than every 200 ms: what was written before the call
   * is seen after it.
   * @returns whether what is known is fresh; false where the stream did not answer
   */
  refresh(): Promise<boolean>;
}

/** A view that keeps itself fresh in the background. */
export interface PolledModelView extends ModelView {
  stop(): void;
}

export interface ModelViewOptions {
  readonly client: StreamClient;
  readonly clock: Clock;
  readonly pollMs?: number;
}

const leastIntervalMs = 200;
const answerLimitMs = 2000;
const noConsumers: readonly Registration[] = [];

/** Reads catalogue and register for the first time and then about every second, in the background. */
export async function startModelView({ client, clock, pollMs = 1000 }: ModelViewOptions): Promise<PolledModelView> {
  let revision: string | undefined;
  let catalogue: Catalogue = new Map();
  let byVersion: ReadonlyMap<string, readonly Registration[]> = new Map();
  let reading = Promise.resolve(false);
  let next: Promise<boolean> | undefined;
  let readAt = -Infinity;

  const read = async () => {
    readAt = clock.now();
    try {
      const [latest, consumers] = await within(
        answerLimitMs,
        Promise.all([catalogueRevision(client), liveConsumers(client)]),
      );
      if (latest !== revision) catalogue = sorted(await within(answerLimitMs, readCatalogue(client)));
      revision = latest;
      byVersion = readyByVersion(consumers);
      return true;
    } catch {
      // What was read last stays in use; enqueueing will tell by itself that the stream is away.
      return false;
    }
  };
  const readNext = async () => {
    await reading;
    await sleep(readAt + leastIntervalMs - clock.now());
    next = undefined;
    reading = read();
    return reading;
  };
  const view: ModelView = {
    catalogue: () => catalogue,
    consumers: ({ name, version }) => byVersion.get(`${name}@${version}`) ?? noConsumers,
    tasksPerSecond: (model) => {
      const manifest = catalogue.get(model);
      return manifest ? reportedRate(view.consumers(manifest), model) : 0;
    },
    refresh: () => (next ??= readNext()),
  };

  await view.refresh();
  const timer = setInterval(() => void view.refresh(), pollMs);
  timer.unref();
  return { ...view, stop: () => clearInterval(timer) };
}

/**
 * The manifest of a model's active version.
 * @throws Failure model_not_found; no_live_consumer while there is no model at all; stream_unavailable where the
 * catalogue cannot be asked
 */
export async function findModel(view: ModelView, name: string): Promise<ModelManifest> {
  const known = view.catalogue().get(name);
  if (known) return known;
  const fresh = await view.refresh();
  const manifest = view.catalogue().get(name);
  if (manifest) return manifest;
  if (!fresh) throw new Failure('stream_unavailable', 'the catalogue of models cannot be read');
  // After a flush too: consumers that live tell of their models again within a second.
  if (view.catalogue().size === 0)
    throw new Failure('no_live_consumer', 'no consumer has told of any model yet', { retryAfter: 2 });
  throw new Failure('model_not_found', `no model "${name.slice(0, 64)}" is in the catalogue`);
}

/**
 * The manifest of a model that can be asked now.
 * @throws Failure model_not_found | no_live_consumer | stream_unavailable
 */
export async function findServedModel(view: ModelView, name: string): Promise<ModelManifest> {
  const known = view.catalogue().get(name);
  if (known && view.consumers(known).length > 0) return known;
  if (known) await view.refresh();
  const manifest = await findModel(view, name);
  if (view.consumers(manifest).length > 0) return manifest;
  throw new Failure('no_live_consumer', `no live consumer holds version ${manifest.version} of ${name}`, {
    retryAfter: 2,
  });
}

function sleep(ms: number): Promise<void> {
  return ms > 0 ? new Promise((resolve) => setTimeout(resolve, ms)) : Promise.resolve();
}

/** Redis keeps a hash in no order. */
function sorted(catalogue: Catalogue): Catalogue {
  return new Map([...catalogue].sort(([first], [second]) => (first < second ? -1 : 1)));
}

function readyByVersion(consumers: readonly Registration[]): ReadonlyMap<string, readonly Registration[]> {
  const byVersion = new Map<string, Registration[]>();
  for (const consumer of consumers) {
    if (consumer.state !== 'ready') continue;
    for (const { model, version } of consumer.models) {
      const key = `${model}@${version}`;
      byVersion.set(key, [...(byVersion.get(key) ?? []), consumer]);
    }
  }
  return byVersion;
}

function reportedRate(consumers: readonly Registration[], model: string): number {
  const rates = consumers.flatMap((consumer) => consumer.models.filter((one) => one.model === model));
  return rates.reduce((sum, { tasksPerSecond }) => sum + tasksPerSecond, 0);
}
