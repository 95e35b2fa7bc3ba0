import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { scriptSources } from '../../contracts/scripts/sources.generated.js';
import type { Random } from '../random.js';
import { clientHabits, times } from './times.js';
import type { Station, World } from './world.js';

/** A fault: how it strikes, and what it excuses. */
export interface Fault {
  readonly name: string;
  /** Whose runs may be done again for its sake: those of everybody, of the parts it struck, or nobody's. */
  readonly excuses: 'everybody' | 'struck' | 'nobody';
  /** Whose requests may miss their deadlines for its sake: all, those at an edge it struck, or none at all. */
  readonly delays: 'everybody' | 'struck' | 'nobody';
  /** Whether answers other than 200, overloaded and 504 are in order while it lasts, and a little longer. */
  readonly disturbs: boolean;
  /** Whether Redis loses data by it, so that what was accepted may not be found any more. */
  readonly loses?: boolean;
  /**
   * Strikes, and resolves when the fault is over.
   * @param turn how often it has struck before
   * @param struck told of each part that is struck, before it is
   */
  strike(world: World, random: Random, turn: number, struck: (station: Station) => void): Promise<void>;
}

/** The first edge and the first backend are spared what kills or stops: their memory is measured over the whole run. */
const spared = 1;

const killConsumer: Fault = {
  ...{ name: 'consumer killed', excuses: 'struck', delays: 'nobody', disturbs: true },
  strike: async (world, random, _turn, struck) => {
    const victim = random.pick(world.backends.slice(spared));
    struck(victim);
    victim.part.signal('SIGKILL');
    await Promise.resolve();
  },
};

const killEdge: Fault = {
  ...{ name: 'edge killed', excuses: 'nobody', delays: 'nobody', disturbs: true },
  strike: async (world, random, _turn, struck) => {
    const victim = random.pick(world.edges.slice(spared));
    struck(victim);
    victim.part.signal('SIGKILL');
    await Promise.resolve();
  },
};

const stopConsumer: Fault = {
  ...{ name: 'consumer stopped past its lease', excuses: 'struck', delays: 'nobody', disturbs: true },
  strike: async (world, random, _turn, struck) => {
    const victim = random.pick(world.backends.slice(spared));
    struck(victim);
    victim.part.signal('SIGSTOP');
    await sleep(times.stoppedMs);
    victim.part.signal('SIGCONT');
  },
};

const crashRedis: Fault = {
  ...{ name: 'Redis killed, started from its file', excuses: 'everybody', delays: 'everybody', disturbs: true },
  strike: (world) => world.streams.crash(times.redisAwayMs),
};

const flush: Fault = {
  ...{ name: 'FLUSHALL', excuses: 'nobody', delays: 'everybody', disturbs: true, loses: true },
  strike: async (world) => {
    await world.streams.direct.flushall();
  },
};

const reset: Fault = {
  ...{ name: 'connections reset', excuses: 'struck', delays: 'nobody', disturbs: true },
  strike: async (world, _random, _turn, struck) => {
    for (const station of world.stations) struck(station);
    for (let i = 0; i < times.resets.count; i++) {
      if (i > 0) await sleep(times.resets.everyMs);
      for (const { proxy } of world.stations) proxy.reset();
    }
  },
};

const stall: Fault = {
  ...{ name: 'connections stalled', excuses: 'struck', delays: 'struck', disturbs: true },
  strike: async (world, random, turn, struck) => {
    const victim = random.pick(world.stations);
    struck(victim);
    victim.proxy.stall();
    await sleep(times.stalledMs[turn % times.stalledMs.length]);
    victim.proxy.release();
  },
};

const enqueueSha = createHash('sha1').update(scriptSources.enqueue).digest('hex');

const dropReply: Fault = {
  ...{ name: 'reply dropped after the enqueue ran', excuses: 'nobody', delays: 'nobody', disturbs: true },
  strike: async (world, random, _turn, struck) => {
    const victim = random.pick(world.edges);
    struck(victim);
    const late = sleep(times.dropWithinMs, undefined, { ref: false }).then(() => {
      throw new Error('no enqueue came by');
    });
    await Promise.race([victim.proxy.dropReplyAfter(enqueueSha), late]);
  },
};

const promote: Fault = {
  ...{
    name: 'primary killed, replica promoted',
    excuses: 'everybody',
    delays: 'everybody',
    disturbs: true,
    loses: true,
  },
  strike: async (world) => {
    const port = await world.streams.promote();
    for (const { proxy } of world.stations) proxy.lead(port);
    await world.streams.replicate();
  },
};

const fullMemory: Fault = {
  ...{ name: 'memory full', excuses: 'nobody', delays: 'nobody', disturbs: true },
  strike: async (world) => {
    const { direct } = world.streams;
    const used = /^used_memory:(\d+)/m.exec(await direct.info('memory'))?.[1] ?? '1';
    await direct.config('SET', 'maxmemory', used);
    await sleep(times.memoryFullMs);
    await direct.config('SET', 'maxmemory', '0');
  },
};

const abortMany: Fault = {
  ...{ name: 'clients gone', excuses: 'nobody', delays: 'nobody', disturbs: false },
  strike: (world) => world.load.burst(clientHabits.burst),
};

/** Every fault that strikes now and then. That hosts' clocks are off is no turn of theirs: they always are. */
export const allFaults: readonly Fault[] = [
  ...[killConsumer, killEdge, stopConsumer, crashRedis, flush, reset, stall, dropReply, promote, fullMemory, abortMany],
];

/** The few that are tried with a real model. */
export const fewFaults: readonly Fault[] = [killConsumer, stopConsumer, reset];
