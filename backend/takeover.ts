import { letGoSilenceMs } from '../contracts/scripts/scripts.js';
import { claimSilent, retireDead } from './claim.js';
import type { ConsumerDeps, ConsumerState } from './consumer.js';
import { endDeleted } from './deleted.js';
import type { Holding } from './holding.js';
import { blockMs, type RawEntry } from './reader.js';

/** Takes over, now and then, what other consumers let lie. */
export interface Takeover {
  /** Entries that were silent for a lease, if it is time to look; never throws. */
  claim(count: number): Promise<readonly RawEntry[]>;
  /** Milliseconds until it is time to look again, at most those that a read blocks for. */
  dueInMs(): number;
}

/** Looks for one model. Consumers look at times of their own, since all of them may do it. */
export function createTakeover(
  deps: ConsumerDeps,
  state: ConsumerState,
  holding: Holding,
  streams: readonly string[],
): Takeover {
  const { client, consumer, leaseMs, log, metrics, now, random } = deps;
  const model = holding.model.manifest.name;
  const nextAt = () => now() + (leaseMs / 4) * (0.5 + random());
  let dueAt = now();

  const claimFrom = async (stream: string, count: number) => {
    // Whoever was cut off for a while cannot tell the dead from those that were cut off too, only what was let go.
    const silentMs = now() - state.steadySince < leaseMs ? letGoSilenceMs : leaseMs;
    const { entries, deleted } = await claimSilent(client, stream, consumer, silentMs, count);
    if (entries.length > 0) {
      metrics.claimed.add(entries.length, { model });
      log.warn({ stream, entries: entries.length }, 'claimed what other consumers let lie');
    }
    if (deleted.length > 0) {
      await endDeleted(deps, holding.model, stream, deleted).catch((error: unknown) => {
        log.error({ err: error, stream, deleted }, 'tasks of deleted entries could not be ended');
      });
    }
    return entries;
  };
  const look = async (count: number) => {
    const entries: RawEntry[] = [];
    for (const stream of streams) {
      if (entries.length < count) entries.push(...(await claimFrom(stream, count - entries.length)));
    }
    return entries;
  };
  const retire = async () => {
    for (const stream of streams) {
      const retired = await retireDead(client, stream, consumer, leaseMs);
      if (retired.length > 0) log.info({ stream, retired }, 'consumers that are dead were retired');
    }
  };

  return {
    claim: async (count) => {
      if (now() < dueAt) return [];
      dueAt = nextAt();
      const entries = await look(count).catch((error: unknown) => {
        log.debug({ err: error }, 'claiming was not possible');
        return [];
      });
      // There may be more.
      if (entries.length >= count) dueAt = now();
      else await retire().catch(() => undefined);
      return entries;
    },
    dueInMs: () => Math.min(blockMs, Math.max(1, Math.ceil(dueAt - now()))),
  };
}
