import { Buffer } from 'node:buffer';
import { Failure } from '../../contracts/failure.js';
import { addGiven } from '../query.js';
import type { ByteSource } from './byte-source.js';
import { invalidMultipart, longestPartHead, paramText, parsePartHead } from './multipart.js';
import type { BatchImage } from './read-images.js';

const headEnd = Buffer.from('\r\n\r\n');
const lineEnd = Buffer.from('\r\n');
const mostParams = 32;
/** Between a boundary and the end of its line stand blanks at most, or the two dashes that end the form. */
const longestLineRest = 64;

/**
 * The pictures of a multipart/form-data body, one after the other: files of the field `image`, of any number. Other
 * fields are parameters of all pictures and stand before the first.
 * @param source to be made with `beforeForm`
 * @throws Failure invalid_multipart | invalid_params, where the form cannot be read any further
 */
export async function* formImages(source: ByteSource, boundary: string, maxBytes: number): AsyncGenerator<BatchImage> {
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  const given = new Map<string, unknown>();
  let count = 0;
  if ((await source.until(delimiter, 0)) === 'ended') throw invalidMultipart('the boundary does not occur in the body');
  while (!(await endsForm(source))) {
    const head = await source.until(headEnd, longestPartHead);
    if (!Buffer.isBuffer(head)) throw invalidMultipart('the headers of a part do not end');
    const { name, isFile, fileName } = parsePartHead(head.toString('utf8'));
    const data = await source.until(delimiter, maxBytes);
    if (data === 'ended') throw invalidMultipart('the body ends before its closing boundary');
    if (name === 'image') {
      count += 1;
      yield { name: fileName, ...imageIn(data, maxBytes), given };
    } else {
      if (data === 'too long') throw new Failure('invalid_params', `field "${name.slice(0, 64)}" is too long`);
      const value = paramText(name, isFile, data);
      if (count > 0) throw invalidMultipart('parameters stand before the first image');
      if (given.size === mostParams) throw invalidMultipart(`there are more than ${mostParams} parameters`);
      addGiven(given, name, value);
    }
  }
}

/** What `formImages` wants in front of the body: its first boundary needs no line break before it. */
export const beforeForm = lineEnd;

async function endsForm(source: ByteSource): Promise<boolean> {
  const line = await source.until(lineEnd, longestLineRest);
  const text = line === 'ended' ? source.rest() : line;
  if (!Buffer.isBuffer(text)) throw invalidMultipart('no line break behind a boundary');
  if (text.toString('latin1').startsWith('--')) return true;
  if (line === 'ended') throw invalidMultipart('the body ends before its closing boundary');
  if (text.toString('latin1').trim() !== '') throw invalidMultipart('no line break behind a boundary');
  return false;
}

function imageIn(data: Buffer | 'too long', maxBytes: number): { image: Buffer } | { failure: Failure } {
  if (data === 'too long') {
    return { failure: new Failure('body_too_large', `the image has more than ${maxBytes} bytes, which are allowed`) };
  }
  return data.length > 0 ? { image: data } : { failure: new Failure('image_missing', 'the image is empty') };
}
