import { Buffer } from 'node:buffer';
import * as z from 'zod';
import { Failure } from '../../contracts/failure.js';
import type { Given } from '../query.js';
import { decodeBase64 } from './base64.js';

// A record schema would drop members of some names without a word; which ones are allowed is checked by name later.
const paramsMember = z.custom<object>((value) => isObject(value), 'expected an object');
const jsonBody = z.strictObject({ image: z.string(), params: paramsMember.optional() });

/** What a form or a JSON body may hold beside the image. */
export const envelopeBytes = 64 * 1024;

/** Most bytes of a JSON body whose image has so many. */
export function longestJson(imageBytes: number): number {
  return Math.ceil((imageBytes * 4) / 3) + envelopeBytes;
}

/**
 * Reads `{"image": "<base64>", "params": {…}}`.
 * @param allocate gives the image's memory
 * @throws Failure invalid_json | invalid_base64 | image_missing
 */
export function imageFromJson(
  body: Buffer,
  allocate?: (length: number) => Buffer,
): { readonly image: Buffer; readonly given: Given } {
  const cut = cutOut(body);
  const value = parseJson(cut?.rest ?? body);
  if (isObject(value) && !('image' in value)) throw new Failure('image_missing', 'the body has no member "image"');
  const parsed = jsonBody.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Failure('invalid_json', issue ? describe(issue) : 'not readable');
  }
  const { image, params = {} } = parsed.data;
  // A second member "image" would count, as it does in JSON.parse.
  const text = cut && image === cutMark ? cut.image : Buffer.from(image);
  return { image: decodeBase64(text, allocate), given: new Map(Object.entries(params)) };
}

/** Stands where an image was cut out; no image is written like that. */
const cutMark = '?cut';
const imageFirst = /^\s*\{\s*"image"\s*:\s*"/;
const longestStart = 64;
const [quote, backslash] = [0x22, 0x5c];

/**
 * The image's text and the JSON without it, where it comes first and needs no unescaping, as what programs write does:
 * parsing it with the rest would copy it twice.
 */
function cutOut(body: Buffer): { readonly image: Buffer; readonly rest: Buffer } | undefined {
  const start = imageFirst.exec(body.toString('latin1', 0, longestStart))?.[0].length;
  if (start === undefined) return undefined;
  const end = body.indexOf(quote, start);
  const image = body.subarray(start, end);
  if (end < 0 || image.includes(backslash)) return undefined;
  return { image, rest: Buffer.concat([body.subarray(0, start), Buffer.from(cutMark), body.subarray(end)]) };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parseJson(body: Buffer): unknown {
  if (body.length === 0) throw new Failure('image_missing', 'the body is empty');
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw new Failure('invalid_json', 'the body is not JSON');
  }
}

function describe(issue: { readonly path: readonly PropertyKey[]; readonly message: string }): string {
  const path = issue.path.map(String).join('.').slice(0, 64);
  return `${path === '' ? '' : `${path}: `}${issue.message.slice(0, 200)}`;
}
