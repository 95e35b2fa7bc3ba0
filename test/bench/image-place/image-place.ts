import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import type { Bench, Measured } from '../bench.js';
import { cpuDuring } from '../process-cpu.js';
import { interleaved, type Side } from '../rounds.js';
import { withSurroundings } from '../surroundings.js';

const group = 'readers';
const batch = 32;

/** Puts so many images into a stream, in one round trip. */
type Put = (client: Redis, stream: string, images: readonly Buffer[]) => Promise<unknown>;

const places: Readonly<Record<string, { readonly put: Put; readonly keyed: boolean }>> = {
  'under a key of its own': {
    keyed: true,
    put: (client, stream, images) => {
      const pipeline = client.pipeline();
      images.forEach((image, i) => pipeline.set(keyOf(stream, i), image).xadd(stream, '*', 'task', keyOf(stream, i)));
      return pipeline.exec();
    },
  },
  'in the entry': {
    keyed: false,
    put: (client, stream, images) => {
      const pipeline = client.pipeline();
      for (const image of images) pipeline.xadd(stream, '*', 'task', image);
      return pipeline.exec();
    },
  },
  'in the entry, by a script': {
    keyed: false,
    put: (client, stream, images) =>
      client.eval(
        "for i, image in ipairs(ARGV) do redis.call('XADD', KEYS[1], '*', 'task', image) end",
        1,
        stream,
        ...images,
      ),
  },
};

const keyOf = (stream: string, number: number) => `${stream}:${String(number)}`;

/** Once across: put, read, fetch where that is needed, ack and delete. */
async function cross(client: Redis, stream: string, images: readonly Buffer[], place: string): Promise<void> {
  const { put, keyed } = places[place] ?? { put: () => Promise.resolve(), keyed: false };
  await put(client, stream, images);
  const read: unknown = await client.xreadgroupBuffer('GROUP', group, 'one', 'COUNT', batch, 'STREAMS', stream, '>');
  const ids = entryIdsIn(read);
  if (ids.length !== images.length) throw new Error(`${String(ids.length)} entries were read`);
  const keys = images.map((_, i) => keyOf(stream, i));
  if (keyed) await client.mgetBuffer(keys);
  const leaving = client
    .multi()
    .xack(stream, group, ...ids)
    .xdel(stream, ...ids);
  await (keyed ? leaving.del(...keys) : leaving).exec();
}

function entryIdsIn(reply: unknown): Buffer[] {
  const streams: unknown = Array.isArray(reply) ? reply[0] : Object.values(Object(reply))[0];
  const entries: unknown = Array.isArray(streams) && streams.length === 2 ? streams[1] : streams;
  return Array.isArray(entries) ? entries.map((entry: readonly Buffer[]) => entry[0] ?? Buffer.alloc(0)) : [];
}

export const imagePlace: Bench = {
  name: 'image-place',
  about:
    'Where an image travels: under a key of its own that the consumer reads apart, or in the entry; by plain commands and by a script. Batches of 32, no limits or promises.',
  run: ({ rounds, quick, say }) =>
    withSurroundings(async (here): Promise<Measured> => {
      const server = await here.redis('stream');
      const client = new Redis(server.url);
      const sides = [20_000, 200_000].flatMap((bytes) =>
        Object.keys(places).map((place, i): Side => {
          const stream = `stream-${String(bytes)}-${String(i)}`;
          const batches = Math.ceil((quick ? 20 : 600) / (bytes / 20_000));
          return {
            name: place,
            point: bytes,
            measure: async () => {
              await client.xgroup('CREATE', stream, group, '0', 'MKSTREAM').catch(() => undefined);
              const images = Array.from({ length: batch }, () => randomBytes(bytes));
              const { micros } = await cpuDuring({ redis: server.pid, client: process.pid }, async () => {
                for (let done = 0; done < batches; done++) await cross(client, stream, images, place);
              });
              const tasks = batches * batch;
              const [redis, own] = [(micros['redis'] ?? 0) / tasks, (micros['client'] ?? 0) / tasks];
              return { redis, client: own, sum: redis + own };
            },
          };
        }),
      );
      const measured = await interleaved(sides, { rounds, warmUps: 1, say });
      client.disconnect();
      return {
        rounds: measured,
        columns: [
          { key: 'redis', label: 'Redis, CPU µs per image' },
          { key: 'client', label: 'client, CPU µs per image' },
          { key: 'sum', label: 'sum' },
        ],
        goals: [],
        charts: [],
        settings: { batch, appendonly: 'yes', appendfsync: 'everysec' },
        remarks: ['The point is the size of an image in bytes.'],
      };
    }),
};
