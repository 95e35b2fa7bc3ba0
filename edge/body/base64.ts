import { Buffer } from 'node:buffer';
import { Failure } from '../../contracts/failure.js';

/**
 * Decodes standard, padded base64 without line breaks (RFC 4648, 4), in time linear to its length.
 * @throws Failure invalid_base64
 */
export function decodeBase64(text: string): Buffer {
  if (text.startsWith('data:')) throw invalid('data: URLs are not read here; send what stands behind the comma');
  if (text.length % 4 !== 0) throw invalid('the length is not a multiple of 4; padding is needed');
  if (text.includes('-') || text.includes('_')) throw invalid('the URL-safe alphabet is not read here');
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const bytes = Buffer.from(text, 'base64');
  // The decoder passes over what is no base64, so a complete result means that there was nothing to pass over. It reads
  // other scripts by their low bytes, which a check of the length in UTF-8 finds.
  if (bytes.length !== (text.length / 4) * 3 - padding || Buffer.byteLength(text) !== text.length) {
    throw invalid('there are characters that are not base64');
  }
  // Bits that padding leaves over must be zero: one image has one spelling.
  if (padding > 0 && bytes.subarray(-(3 - padding)).toString('base64') !== text.slice(-4)) {
    throw invalid('the last character has bits that mean nothing');
  }
  return bytes;
}

function invalid(detail: string): Failure {
  return new Failure('invalid_base64', detail);
}
