import { Failure, failures } from '../../contracts/failure.js';
import type { BatchImage } from '../body/read-images.js';
import { coded } from '../problem.js';
import { answerPicture, checkPicture, type Held, type Place } from './answer-picture.js';
import type { Batch } from './batch.js';
import { answeredItem, failedItem, type Item, type Outcome } from './item.js';
import { payForPicture } from './pay.js';

/** Pictures of one request that wait for their results at a time; their images have been let go of. */
const mostUnderWay = 128;

/**
 * Asks a model about pictures one after the other, each read only when the one before it is in the stream, and yields
 * what became of them in the order in which they are done. A batch that breaks off ends with an item that says why;
 * pictures after it were not looked at. It goes on whether or not its items are taken.
 * @throws Failure where it breaks off before its first picture was in the stream
 */
export async function* runBatch(batch: Batch, images: AsyncGenerator<BatchImage>): AsyncGenerator<Item> {
  const done: Item[] = [];
  let wake: () => void = () => undefined;
  const state = { hasEnded: false };
  const tell = (item: Item) => {
    done.push(item);
    wake();
  };
  const running = takeAll(batch, images, tell).finally(() => {
    state.hasEnded = true;
    wake();
  });
  // Awaited below, once its items are out.
  running.catch(() => undefined);
  for (;;) {
    const item = done.shift();
    if (item) yield item;
    else if (state.hasEnded) break;
    else await new Promise<void>((resolve) => (wake = resolve));
  }
  await running;
}

async function takeAll(batch: Batch, images: AsyncGenerator<BatchImage>, tell: (item: Item) => void): Promise<void> {
  const underWay: UnderWay = new Map();
  const leaveAll = () => underWay.forEach((one) => one.abort());
  batch.signal.addEventListener('abort', leaveAll, { once: true });
  let count = 0;
  try {
    for await (const image of images) {
      await mayGoOn(batch, count);
      await takeOne(batch, { index: count, image, underWay, tell });
      count += 1;
      while (underWay.size >= mostUnderWay) await Promise.race(underWay.keys());
    }
    if (count === 0) throw new Failure('image_missing', 'there is no image in the body');
  } catch (error) {
    if (count === 0) throw error;
    tell(failedItem(count, undefined, noteFailure(batch, error)));
  }
  await Promise.all(underWay.keys());
  batch.signal.removeEventListener('abort', leaveAll);
}

/** @throws Failure where a further picture is not to be looked at */
async function mayGoOn(batch: Batch, index: number): Promise<void> {
  const { config, stopping } = batch.deps;
  const most = config.maxBatchImages;
  if (index >= most) throw new Failure('body_too_large', `no more than ${most} images are allowed in one request`);
  if (stopping.aborted) throw new Failure('edge_stopping', 'send this image and those after it again');
  // The first was paid for when the request came.
  if (index > 0) await payForPicture(batch);
  if (batch.signal.aborted) throw new Failure('body_incomplete', 'the client has gone');
}

/** Pictures that wait, each with what makes it leave. One listener for all of them hears that the client has gone. */
type UnderWay = Map<Promise<void>, AbortController>;

interface Taking {
  readonly index: number;
  readonly image: BatchImage;
  readonly underWay: UnderWay;
  readonly tell: (item: Item) => void;
}

/**
 * Resolves when the picture is in the stream, or has been answered.
 * @throws Failure where it could not be sent: those after it could not, either
 */
async function takeOne(batch: Batch, { index, image, underWay, tell }: Taking): Promise<void> {
  const { name } = image;
  const fail = (error: unknown) => tell(failedItem(index, name, noteFailure(batch, error)));
  const leaving = new AbortController();
  const order = checked(batch, image, leaving.signal, fail);
  if (!order) return;
  const others = [...underWay.keys()];
  let isSent = false;
  let onSent: () => void = () => undefined;
  const sent = new Promise<void>((resolve) => (onSent = resolve));
  const place: Place = {
    oneDone: (ms) => Promise.race([...others, new Promise<void>((resolve) => setTimeout(resolve, ms))]),
    onSent: () => {
      isSent = true;
      onSent();
    },
  };
  const answered = answerPicture(batch, order, place).then(
    (outcome) => {
      noteAnswer(batch, outcome);
      tell(answeredItem(index, name, outcome));
    },
    (error: unknown) => {
      if (!isSent && isNobodysFault(error)) throw error;
      fail(error);
    },
  );
  const ended = answered.catch(() => undefined).finally(() => underWay.delete(ended));
  underWay.set(ended, leaving);
  await Promise.race([sent, answered]);
}

function checked(
  batch: Batch,
  image: BatchImage,
  signal: AbortSignal,
  fail: (error: unknown) => void,
): Held | undefined {
  try {
    return checkPicture(batch, image, signal);
  } catch (error) {
    fail(error);
    return undefined;
  }
}

/** Of the kinds that the pictures after this one would meet, too. */
function isNobodysFault(error: unknown): boolean {
  return error instanceof Failure && failures[error.code].status >= 503;
}

function noteAnswer({ request }: Batch, { cache }: Outcome): void {
  request.tally.answered += 1;
  if (cache === 'hit') request.tally.hits += 1;
}

function noteFailure({ deps, request }: Batch, error: unknown): Failure {
  request.tally.failed += 1;
  const failure = coded(error);
  if (failure.code === 'internal') deps.reportError(failure.cause ?? failure, request.requestId);
  return failure;
}
