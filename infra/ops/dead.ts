import { writeFile } from 'node:fs/promises';
import { InvalidArgumentError, type Command } from 'commander';
import type { Redis } from 'ioredis';
import { readCatalogue } from '../../contracts/catalogue.js';
import { partitionKeys } from '../../contracts/keys.js';
import { decodeResult, type Result } from '../../contracts/result.js';
import {
  dropDeadLetter,
  findDeadLetter,
  listDeadLetters,
  readDeadImage,
  replayDeadLetter,
  type FiledLetter,
} from '../../contracts/scripts/dead-letters.js';
import { connected } from './connected.js';
import { drawTable } from './table.js';

/** `ops dead list|show|replay|drop`. */
export function addDeadLetterCommands(program: Command): void {
  const dead = program.command('dead').description('tasks that were given up, with their images');
  dead.command('list').description('the oldest first').option('--model <name>', 'all where left out').action(list);
  dead
    .command('show <model> <id>')
    .description('all that is known of one')
    .option('--image <file>', 'writes its image there')
    .action(show);
  dead
    .command('replay <model> <id>')
    .description('runs it again with its image, and waits for its end')
    .option('--seconds <count>', 'that it may take', secondsFrom, 60)
    .action(replay);
  dead.command('drop <model> <id>').description('removes it and its image').action(drop);
}

async function list({ model }: { readonly model?: string }): Promise<void> {
  const letters = await connected(async (client) => {
    const models = model === undefined ? [...(await readCatalogue(client)).keys()].sort() : [model];
    return (await Promise.all(models.map((name) => listDeadLetters(client, name)))).flat();
  });
  console.log(
    drawTable(['model', 'id', 'when', 'code', 'deliveries', 'consumer', 'tenant', 'bytes'], letters.map(row)),
  );
}

function row({ id, letter }: FiledLetter): readonly string[] {
  const { spec, code, deliveries, consumer } = letter;
  const when = new Date(Number(id.split('-')[0])).toISOString().slice(0, 19).replace('T', ' ');
  return [spec.model, id, when, code, String(deliveries), consumer, spec.tenant, String(spec.bytes)];
}

async function show(model: string, id: string, { image: file }: { readonly image?: string }): Promise<void> {
  const { letter, image } = await connected(async (client) => {
    const filed = await theLetter(client, model, id);
    return { ...filed, image: await readDeadImage(client, filed.letter) };
  });
  console.log(JSON.stringify({ ...letter, imageBytes: image?.length ?? 0 }, null, 2));
  if (file === undefined) return;
  if (!image) throw new Error('its image is kept no longer');
  await writeFile(file, image);
}

/** It runs on the version that is served now: a consumer holds no other. */
async function replay(model: string, id: string, { seconds }: { readonly seconds: number }): Promise<void> {
  await connected(async (client) => {
    const filed = await theLetter(client, model, id);
    const version = (await readCatalogue(client)).get(model)?.version ?? filed.letter.spec.version;
    const replayed = await replayDeadLetter(client, filed, { version, timeLeftMs: seconds * 1000 });
    if (replayed.how !== 'replayed') {
      throw replayed.how === 'none'
        ? noLetter(model, id)
        : new Error('its image is kept no longer; it cannot run again');
    }
    console.log(`task ${replayed.taskId}, in the trace ${filed.letter.traceparent.split('-')[1] ?? ''}`);
    tell(await endOf(client, model, replayed.taskId, seconds));
  });
}

function tell(result: Result | undefined): void {
  if (!result) throw new Error('it has not ended in that time; see whether it is a dead letter again');
  if (result.outcome === 'failed') throw new Error(`it failed: ${result.code}: ${result.detail}`);
  console.log(Buffer.from(result.predictions).toString());
}

const lookEveryMs = 100;

async function endOf(client: Redis, model: string, taskId: string, seconds: number): Promise<Result | undefined> {
  const until = Date.now() + seconds * 1000;
  do {
    const stored = await client.getBuffer(partitionKeys(model).result(taskId));
    if (stored) return decodeResult(stored);
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  } while (Date.now() < until);
  return undefined;
}

async function drop(model: string, id: string): Promise<void> {
  const isDropped = await connected(async (client) => dropDeadLetter(client, await theLetter(client, model, id)));
  if (!isDropped) throw noLetter(model, id);
  console.log(`${model} ${id} is removed`);
}

async function theLetter(client: Redis, model: string, id: string): Promise<FiledLetter> {
  const filed = await findDeadLetter(client, model, id);
  if (!filed) throw noLetter(model, id);
  return filed;
}

function noLetter(model: string, id: string): Error {
  return new Error(`model ${model} has no dead letter ${id}`);
}

function secondsFrom(text: string): number {
  const seconds = Number(text);
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > 3600) {
    throw new InvalidArgumentError('expected whole seconds from 1 to 3600');
  }
  return seconds;
}
