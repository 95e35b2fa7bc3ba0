import { Buffer } from 'node:buffer';
import { Failure } from '../../contracts/failure.js';

/** Decoded at a time: strings of this length are short-lived garbage, one of a whole image would live for long. */
const blockLength = 64 * 1024;
const [minus, underscore, equals] = [0x2d, 0x5f, 0x3d];

/**
 * Decodes standard, padded base64 without line breaks (RFC 4648, 4), in time linear to its length.
 * @param text its characters, as they came
 * @param allocate gives memory of a length for what they stand for
 * @throws Failure invalid_base64
 */
export function decodeBase64(text: Buffer, allocate: (length: number) => Buffer = Buffer.allocUnsafe): Buffer {
  if (text.toString('latin1', 0, 5) === 'data:') {
    throw invalid('data: URLs are not read here; send what stands behind the comma');
  }
  if (text.length % 4 !== 0) throw invalid('the length is not a multiple of 4; padding is needed');
  if (text.includes(minus) || text.includes(underscore)) throw invalid('the URL-safe alphabet is not read here');
  const padding = text.at(-1) === equals ? (text.at(-2) === equals ? 2 : 1) : 0;
  const bytes = allocate((text.length / 4) * 3 - padding);
  let length = 0;
  for (let at = 0; at < text.length; at += blockLength) {
    length += bytes.write(text.toString('latin1', at, at + blockLength), length, 'base64');
  }
  // The decoder passes over what is no base64, so a complete result means that there was nothing to pass over.
  if (length !== bytes.length) throw invalid('there are characters that are not base64');
  // Bits that padding leaves over must be zero: one image has one spelling.
  if (padding > 0 && bytes.subarray(-(3 - padding)).toString('base64') !== text.toString('latin1', text.length - 4)) {
    throw invalid('the last character has bits that mean nothing');
  }
  return bytes;
}

function invalid(detail: string): Failure {
  return new Failure('invalid_base64', detail);
}
