import { Failure, failures } from '../../contracts/failure.js';
import type { BatchImage } from '../body/read-images.js';
import { coded } from '../problem.js';
import { within } from '../within.js';
import { answerPicture, checkPicture, type Held, type Place } from './answer-picture.js';
import type { Batch } from './batch.js';
import { refuseToGoOn, untilBrokenOff } from './break-off.js';
import { answeredItem, failedItem, type Item, type Outcome } from './item.js';
import { payForPicture } from './pay.js';

/** Pictures of one request that wait for their results at a time; their images have been let go of. */
const mostUnderWay = 128;
/** Milliseconds that one of them may take to arrive. */
const longestPictureMs = 120_000;

export interface RunningBatch {
  /** What became of pictures, in the order in which they are done. @throws Failure as `ended` rejects */
  readonly items: AsyncGenerator<Item>;
  /** Resolves when the last picture is done. Rejects where the batch breaks off before its first was in the stream. */
  readonly ended: Promise<void>;
}

/**
 * Asks a model about pictures one after the other, each read only when the one before it is in the stream. A batch that
 * breaks off ends with an item that says why; pictures from there on were not looked at. It goes on whether or not its
 * items are taken.
 */
export function runBatch(batch: Batch, images: AsyncGenerator<BatchImage>): RunningBatch {
  const done: Item[] = [];
  let wake: () => void = () => undefined;
  const state = { hasEnded: false };
  const tell = (item: Item) => {
    done.push(item);
    wake();
  };
  const ended = takeAll(batch, images, tell).finally(() => {
    state.hasEnded = true;
    wake();
  });
  // Whoever takes the items hears of it.
  ended.catch(() => undefined);
  async function* items(): AsyncGenerator<Item> {
    for (;;) {
      const item = done.shift();
      if (item) yield item;
      else if (state.hasEnded) break;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
    await ended;
  }
  return { items: items(), ended };
}

async function takeAll(batch: Batch, images: AsyncGenerator<BatchImage>, tell: (item: Item) => void): Promise<void> {
  const underWay: UnderWay = { pictures: new Map(), onDone: () => undefined };
  const leaveAll = () => underWay.pictures.forEach((one) => one.abort());
  batch.signal.addEventListener('abort', leaveAll, { once: true });
  const broken = await takeEach(batch, images, { underWay, tell });
  await Promise.all(underWay.pictures.keys());
  batch.signal.removeEventListener('abort', leaveAll);
  if (broken?.index === 0) throw broken.error;
  if (broken) tell(failedItem(broken.index, broken.name, noteFailure(batch, broken.error)));
}

/** Where and why a batch broke off. */
interface Broken {
  readonly index: number;
  readonly name: string | undefined;
  readonly error: unknown;
}

type Telling = Pick<Taking, 'underWay' | 'tell'>;

async function takeEach(
  batch: Batch,
  images: AsyncGenerator<BatchImage>,
  telling: Telling,
): Promise<Broken | undefined> {
  let index = 0;
  let name: string | undefined;
  try {
    for (;;) {
      name = undefined;
      const next = await untilBrokenOff(batch, within(longestPictureMs, images.next(), tooSlow));
      if (next.done) break;
      ({ name } = next.value);
      await mayGoOn(batch, index);
      await takeOne(batch, { ...telling, index, image: next.value });
      index += 1;
      const { pictures } = telling.underWay;
      while (pictures.size >= mostUnderWay) await Promise.race(pictures.keys());
    }
    return index > 0
      ? undefined
      : { index, name, error: new Failure('image_missing', 'there is no image in the body') };
  } catch (error) {
    return { index, name, error };
  } finally {
    // A picture may be under way that nobody waits for any more.
    images.return(undefined).catch(() => undefined);
  }
}

function tooSlow(): Failure {
  return new Failure('body_incomplete', `an image was not complete after ${longestPictureMs} ms`);
}

/** @throws Failure where a further picture is not to be looked at */
async function mayGoOn(batch: Batch, index: number): Promise<void> {
  const most = batch.deps.config.maxBatchImages;
  if (index >= most) throw new Failure('body_too_large', `no more than ${most} images are allowed in one request`);
  // The first was paid for when the request came.
  if (index > 0) await payForPicture(batch);
  refuseToGoOn(batch);
}

/** Pictures that wait, each with what makes it leave. One listener for all of them hears that the client has gone. */
interface UnderWay {
  readonly pictures: Map<Promise<void>, AbortController>;
  /** Called when one of them is done. */
  onDone: () => void;
}

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
  let isSent = false;
  let onSent: () => void = () => undefined;
  const sent = new Promise<void>((resolve) => (onSent = resolve));
  const place: Place = {
    oneDone: (ms) => oneDone(underWay, ms),
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
  const ended = answered
    .catch(() => undefined)
    .finally(() => {
      underWay.pictures.delete(ended);
      underWay.onDone();
    });
  underWay.pictures.set(ended, leaving);
  await Promise.race([sent, answered]);
}

function oneDone(underWay: UnderWay, withinMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, withinMs);
    underWay.onDone = () => {
      clearTimeout(timer);
      resolve();
    };
  });
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
