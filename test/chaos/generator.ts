/**
 * The clients: a process of its own that sends pictures at a steady rate, whatever comes back, and notes what became of
 * every request. Told over IPC when to begin, to let many clients go away at once, and to stop.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { createBatchClient } from './batch-client.js';
import { connectionsTo, createClient, type Intent } from './client.js';
import { photoGallery, simulatedGallery, type Sent } from './gallery.js';
import { createLaterClient } from './later-client.js';
import { commandSchema, orderSchema, type Report } from './load.js';
import type { RequestRecord } from './record.js';
import { seededRandom } from '../random.js';
import { tokensOf } from './tenants.js';
import { clientHabits, times } from './times.js';

const order = orderSchema.parse(JSON.parse(process.argv[2] ?? '{}'));
const random = seededRandom(order.seed);
const gallery = order.pictures === 'photos' ? await photoGallery() : simulatedGallery();
const { model, tokenSecret, mostInFlight } = order;
const clients = { edges: connectionsTo(order.edges, mostInFlight), model, tokens: await tokensOf(tokenSecret) };
const client = createClient(clients);
const laterClient = createLaterClient(clients);
const batchClient = createBatchClient(clients);
const file = openSync(order.recordFile, 'a');

/** Pictures that others may join. */
const inFlight = new Map<string, Sent>();
/** Requests of clients that come back, and of batches. */
const elsewhere = new Set<Promise<void>>();
const remembered: Sent[] = [];
const mostRemembered = 200;
/** Edges that a connection just failed to, and until when clients keep away from them. */
const avoidedUntil = order.edges.map(() => 0);
const avoidMs = 500;
const counts = { sent: 0, heldBack: 0, pictures: 0 };
const lag = { worstMs: 0 };

function next(): Intent {
  const aborts = random.int(100) < clientHabits.aborting;
  const abortAfterMs = aborts ? random.int(times.abortWithinMs) : undefined;
  return { ...nextPicture(random.int(100)), abortAfterMs };
}

function nextPicture(percent: number): Intent {
  const { joining, repeating } = clientHabits;
  const candidates = percent < joining ? [...inFlight.values()] : percent < joining + repeating ? remembered : [];
  if (candidates.length === 0) return fresh();
  return intend(random.pick(candidates), percent < joining ? 'joining' : 'repeating');
}

function fresh(): Intent {
  return intend(gallery(`${String(order.seed)}-${String(counts.pictures++)}`), 'unique');
}

function intend(picture: Sent, why: RequestRecord['why']): Intent {
  const edge = random.pick(reachable());
  return { id: `c${String(counts.sent++)}`, why, picture, edge, deadlineMs: random.pick(times.deadlinesMs) };
}

/** Edges that no connection failed to of late; all of them where there is none. */
function reachable(): number[] {
  const all = order.edges.map((_, edge) => edge);
  const good = all.filter((edge) => (avoidedUntil[edge] ?? 0) < Date.now());
  return good.length > 0 ? good : all;
}

async function send(intent: Intent): Promise<void> {
  inFlight.set(intent.id, intent.picture);
  const record = await client(intent);
  inFlight.delete(intent.id);
  note(record);
  if (record.status === 200 && remembered.push(intent.picture) > mostRemembered) remembered.shift();
  if (record.end !== 'broken') return;
  avoidedUntil[intent.edge] = Date.now() + avoidMs;
  if (intent.why !== 'again') await send(intend(intent.picture, 'again'));
}

function note(record: RequestRecord): void {
  writeSync(file, `${JSON.stringify(record)}\n`);
}

/** One more request that is due, of whatever kind. */
function sendNext(): void {
  const { later, batches, batchSize } = clientHabits;
  const percent = random.int(100);
  if (percent < later) sendElsewhere(sendLater());
  else if (percent < later + batches) sendElsewhere(sendBatch(batchSize));
  else void send(next());
}

function sendElsewhere(sending: Promise<void>): void {
  elsewhere.add(sending);
  void sending.finally(() => elsewhere.delete(sending));
}

async function sendLater(): Promise<void> {
  note(await laterClient({ ...fresh(), why: 'later', deadlineMs: times.laterDeadlineMs }));
}

async function sendBatch(size: number): Promise<void> {
  const intents = Array.from({ length: size }, () => ({ ...fresh(), why: 'batch' as const }));
  const [first] = intents;
  // They share the edge and the time of the first.
  const { edge = 0, deadlineMs = 0 } = first ?? {};
  for (const record of await batchClient(intents.map((intent) => ({ ...intent, edge, deadlineMs })))) note(record);
}

/** Sends what has fallen due since the last turn; what one turn cannot send without a flood is left out. */
function keepRate(): NodeJS.Timeout {
  const everyMs = 20;
  const mostATurn = 20;
  let last = performance.now();
  let due = 0;
  return setInterval(() => {
    const now = performance.now();
    lag.worstMs = Math.max(lag.worstMs, now - last - everyMs);
    due = Math.min(mostATurn, due + ((now - last) * order.ratePerSecond) / 1000);
    last = now;
    for (; due >= 1; due--) {
      if (inFlight.size + elsewhere.size < mostInFlight) sendNext();
      else counts.heldBack++;
    }
  }, everyMs);
}

/** Many clients send at once, and all of them go away. */
async function burst(count: number): Promise<void> {
  const clients = Array.from({ length: count }, () => ({
    ...{ ...fresh(), why: 'burst' as const, abortAfterMs: times.abortWithinMs / 4 + random.int(times.abortWithinMs) },
  }));
  await Promise.all(clients.map(send));
}

let sending: NodeJS.Timeout | undefined;

async function stop(): Promise<void> {
  clearInterval(sending);
  while (inFlight.size + elsewhere.size > 0) await new Promise((resolve) => setTimeout(resolve, 50));
  closeSync(file);
}

function report(done: Report['done']): void {
  process.send?.({ done, ...counts, worstLagMs: Math.round(lag.worstMs) } satisfies Report);
}

process.on('message', (message) => {
  const command = commandSchema.parse(message);
  if (command.do === 'begin') sending = keepRate();
  if (command.do === 'burst') void burst(command.count).then(() => report('burst'));
  if (command.do === 'stop') void stop().then(() => report('stop'));
});
process.on('disconnect', () => process.exit());
report('ready');
