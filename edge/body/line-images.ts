import { Buffer } from 'node:buffer';
import { Failure } from '../../contracts/failure.js';
import type { ByteSource } from './byte-source.js';
import { imageFromJson, longestJson } from './json-image.js';
import type { BatchImage } from './read-images.js';

const lineEnd = Buffer.from('\n');

/**
 * The pictures of an application/x-ndjson body: a line each, as a request with one picture would be. Empty lines are none.
 * @throws Failure body_too_large where nothing but those comes
 */
export async function* lineImages(source: ByteSource, maxBytes: number): AsyncGenerator<BatchImage> {
  const longest = longestJson(maxBytes);
  let memory = Buffer.alloc(0);
  const allocate = (length: number) => {
    if (length > memory.length) memory = Buffer.allocUnsafeSlow(2 * length);
    return memory.subarray(0, length);
  };
  for (;;) {
    if (!(await source.skipBlank(mostBlank))) {
      throw new Failure('body_too_large', `there are more than ${mostBlank} bytes of blanks and empty lines`);
    }
    const line = await source.until(lineEnd, longest);
    const text = line === 'ended' ? source.rest() : line;
    if (line === 'ended' && text?.length === 0) return;
    yield Buffer.isBuffer(text) ? imageIn(text, maxBytes, allocate) : { ...tooLong(longest), given: noParams };
    if (line === 'ended') return;
  }
}

/** Bytes between two lines that mean nothing: who sends no pictures is to end. */
const mostBlank = 64 * 1024;

const noParams: BatchImage['given'] = new Map();

function imageIn(line: Buffer, maxBytes: number, allocate: (length: number) => Buffer): BatchImage {
  try {
    const { image, given } = imageFromJson(line, allocate);
    if (image.length === 0) throw new Failure('image_missing', 'the image is empty');
    if (image.length > maxBytes) {
      throw new Failure('body_too_large', `the image has ${image.length} bytes, allowed are ${maxBytes}`);
    }
    return { image, given };
  } catch (failure) {
    if (failure instanceof Failure) return { failure, given: noParams };
    throw failure;
  }
}

function tooLong(longest: number): { failure: Failure } {
  return { failure: new Failure('body_too_large', `a line has more than ${longest} bytes, which are allowed`) };
}
