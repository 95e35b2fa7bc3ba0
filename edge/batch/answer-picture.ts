import { Buffer } from 'node:buffer';
import { Failure } from '../../contracts/failure.js';
import { canonicalParams, parseParams } from '../../contracts/params.js';
import { workKey } from '../../contracts/task.js';
import type { BatchImage } from '../body/read-images.js';
import type { Crossed, Order } from '../crossing.js';
import { digestsOf } from '../digest.js';
import { readImageHeader } from '../image/image-header.js';
import { crossedAnswer, specOf } from '../picture.js';
import { mergeGiven } from '../query.js';
import type { Batch } from './batch.js';
import type { Outcome } from './item.js';

/** An order whose image is let go of once the stream has it: pictures that wait for their results take no memory here. */
export type Held = { -readonly [Key in keyof Order]: Order[Key] };

const nothing = Buffer.alloc(0);
/** Milliseconds until the stream is asked again whether there is room, unless a picture of the batch is done before. */
const roomEveryMs = 250;

/**
 * Checks a picture by all that can be told without decoding it.
 * @throws Failure of the kinds a request with this picture alone would be answered with
 */
export function checkPicture(
  { deps, request, principal, manifest, query, timeoutMs }: Batch,
  read: BatchImage,
  signal: AbortSignal,
): Held {
  if ('failure' in read) throw read.failure;
  const { image, given } = read;
  request.bytes = (request.bytes ?? 0) + image.length;
  const params = parseParams(manifest, mergeGiven(query, given));
  const { width, height } = readImageHeader(image, deps.config.maxPixels);
  request.pixels = (request.pixels ?? 0) + width * height;
  const spec = specOf(principal, manifest, params, digestsOf(image), image.length);
  const work = workKey(spec, canonicalParams(params));
  return { spec, work, image, inShare: true, comesAgain: true, timeLeftMs: timeoutMs, signal, trace: request.trace };
}

/** How a picture of a batch learns that others are done, and tells that its image is needed no longer. */
export interface Place {
  /** Resolves when another picture of the batch is done, or after so many milliseconds; never at once. */
  oneDone(withinMs: number): Promise<void>;
  onSent(): void;
}

/**
 * A checked picture's answer, from the cache or across the stream, where it waits for room; its time counts from when
 * it has that, or one that waited long would be admitted in vain.
 * @throws Failure as cross does, and of the result's code
 */
export async function answerPicture({ deps, manifest }: Batch, order: Held, place: Place): Promise<Outcome> {
  const roomUntil = deps.clock.now() + order.timeLeftMs;
  const { work, spec } = order;
  const cached = await deps.cache.find(work, spec.sha256, spec.model);
  if (cached) return { answer: cached.answer, cache: 'hit' };
  order.onSent = () => {
    order.image = nothing;
    place.onSent();
  };
  for (;;) {
    const crossed = await unlessShed(deps.cross(order));
    if (!(crossed instanceof Failure)) return { answer: crossedAnswer(manifest, crossed).answer, cache: crossed.cache };
    await place.oneDone(roomEveryMs);
    if (deps.clock.now() >= roomUntil || order.signal?.aborted || deps.stopping.aborted) throw crossed;
  }
}

/** Whoever finds no room gets a Failure back, to try again. */
async function unlessShed(crossing: Promise<Crossed>): Promise<Crossed | Failure> {
  try {
    return await crossing;
  } catch (error) {
    if (error instanceof Failure && error.code === 'overloaded') return error;
    throw error;
  }
}
