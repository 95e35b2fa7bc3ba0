import type { Buffer } from 'node:buffer';
import type { Callback, ClientContext, Redis, Cluster, Result as Reply } from 'ioredis';
import * as z from 'zod';
import { consumerGroup } from '../keys.js';
import { scriptSources } from './sources.generated.js';

declare module 'ioredis' {
  interface RedisCommander<Context extends ClientContext> {
    sampanEnqueue(...args: (string | number | Buffer)[]): Reply<unknown, Context>;
    sampanLeave(...args: (string | number | Buffer | Callback<unknown>)[]): Reply<unknown, Context>;
    sampanRenew(...args: (string | number)[]): Reply<unknown, Context>;
    sampanRetire(...args: (string | number)[]): Reply<unknown, Context>;
    sampanSpend(...args: (string | number)[]): Reply<unknown, Context>;
    sampanSolo(...args: (string | number)[]): Reply<unknown, Context>;
    sampanSubmit(...args: (string | number)[]): Reply<unknown, Context>;
    sampanLookBuffer(...args: (string | number)[]): Reply<unknown, Context>;
    sampanWithdraw(...args: (string | number)[]): Reply<unknown, Context>;
    sampanReplay(...args: (string | number)[]): Reply<unknown, Context>;
    sampanDrop(...args: (string | number)[]): Reply<unknown, Context>;
    sampanKeepSpans(...args: (string | number)[]): Reply<unknown, Context>;
  }
}

/** A connection to the stream role. */
export type StreamClient = Redis | Cluster;

/** Teaches a client the state changes; every other function here needs a client that was taught. */
export function defineScripts<Client extends StreamClient>(client: Client): Client {
  client.defineCommand('sampanEnqueue', { lua: scriptSources.enqueue });
  client.defineCommand('sampanLeave', { lua: scriptSources.leave });
  client.defineCommand('sampanRenew', { numberOfKeys: 1, lua: scriptSources.renew });
  client.defineCommand('sampanRetire', { numberOfKeys: 1, lua: scriptSources.retire });
  client.defineCommand('sampanSpend', { numberOfKeys: 2, lua: scriptSources.spend });
  client.defineCommand('sampanSolo', { numberOfKeys: 2, lua: scriptSources.solo });
  client.defineCommand('sampanSubmit', { lua: scriptSources.submit });
  client.defineCommand('sampanLook', { numberOfKeys: 3, lua: scriptSources.look });
  client.defineCommand('sampanWithdraw', { numberOfKeys: 1, lua: scriptSources.withdraw });
  client.defineCommand('sampanReplay', { numberOfKeys: 7, lua: scriptSources.replay });
  client.defineCommand('sampanDrop', { numberOfKeys: 2, lua: scriptSources.drop });
  client.defineCommand('sampanKeepSpans', { numberOfKeys: 6, lua: scriptSources.keepSpans });
  return client;
}

/** Removes an entry that names no task; there is nothing else to settle. */
export async function discardEntry(client: StreamClient, stream: string, entryId: string): Promise<void> {
  await client.multi().xack(stream, consumerGroup, entryId).xdel(stream, entryId).exec();
}

/** Restarts the lease of entries that are still this consumer's; answers their ids. See renew.lua. */
export async function renew(
  client: StreamClient,
  stream: string,
  consumer: string,
  entryIds: readonly string[],
): Promise<readonly string[]> {
  return setSilence(client, stream, consumer, 0, entryIds);
}

/** Milliseconds for which entries count as silent that were let go: longer than any lease, so that they can be told. */
export const letGoSilenceMs = 86_400_000;

/** Ends the lease of entries that are still this consumer's, so that others may claim them at once. See renew.lua. */
export async function letGo(
  client: StreamClient,
  stream: string,
  consumer: string,
  entryIds: readonly string[],
): Promise<readonly string[]> {
  return setSilence(client, stream, consumer, letGoSilenceMs, entryIds);
}

async function setSilence(
  client: StreamClient,
  stream: string,
  consumer: string,
  silentMs: number,
  entryIds: readonly string[],
): Promise<readonly string[]> {
  return z.array(z.string()).parse(await client.sampanRenew(stream, consumerGroup, consumer, silentMs, ...entryIds));
}

/** What became of a claimed entry that was to run alone; counts include this start. */
export type SoloStart =
  | { readonly how: 'started' | 'over'; readonly starts: number; readonly deliveries: number }
  | { readonly how: 'gone' | 'lost' };

const soloReply = z.union([
  z.tuple([z.enum(['started', 'over']), z.number(), z.number()]),
  z.tuple([z.enum(['gone', 'lost'])]),
]);

/** Records that a claimed entry is about to run alone, unless it has had its `most` solo starts. See solo.lua. */
export async function startSolo(
  client: StreamClient,
  held: { readonly stream: string; readonly task: string; readonly consumer: string; readonly entryId: string },
  most: number,
): Promise<SoloStart> {
  const { stream, task, consumer, entryId } = held;
  const reply = soloReply.parse(await client.sampanSolo(stream, task, consumerGroup, consumer, entryId, most));
  if (reply.length === 1) return { how: reply[0] };
  const [how, starts, deliveries] = reply;
  return { how, starts, deliveries };
}

/** Removes a consumer that holds nothing from a stream's group; answers whether it is gone. See retire.lua. */
export async function retire(client: StreamClient, stream: string, consumer: string): Promise<boolean> {
  return (await client.sampanRetire(stream, consumerGroup, consumer)) === 1;
}

/** What a script's reply is, before its form is known. */
export function isList(reply: unknown): reply is readonly unknown[] {
  return Array.isArray(reply);
}
