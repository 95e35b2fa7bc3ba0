import type { Buffer } from 'node:buffer';
import * as z from 'zod';
import { Failure } from '../../contracts/failure.js';
import type { EdgeDeps } from '../deps.js';
import { digestsOf, startDigests, type Digests } from '../digest.js';
import { addGiven, type Given } from '../query.js';
import type { EdgeContext } from '../request.js';
import { decodeBase64 } from './base64.js';
import { parseContentType } from './content-type.js';
import { parseMultipart } from './multipart.js';

/** What a predict request carries. */
export interface Upload {
  readonly image: Buffer;
  /** Parameters that stand in the body. */
  readonly given: Given;
  /** To be asked once. */
  readonly digests: () => Digests;
}

/** What a form or a JSON body may hold beside the image. */
const envelopeBytes = 64 * 1024;
const longestParam = 256;
const allowed = 'image/*, application/octet-stream, multipart/form-data or application/json';

/**
 * Reads the image out of any of the three forms of body: the bytes alone, a form with the field `image`, or JSON with
 * the member `image` in base64. Bytes without a content type are taken for an image; what they are will be seen.
 * @throws Failure unsupported_content_type | body_too_large | body_incomplete | invalid_multipart | invalid_json |
 *   invalid_base64 | invalid_params | image_missing
 */
export async function readUpload(deps: EdgeDeps, c: EdgeContext): Promise<Upload> {
  const limit = deps.config.maxBodyBytes;
  const content = parseContentType(c.req.header('content-type'));
  const upload = await readForm(deps, c, content?.type ?? 'application/octet-stream', content?.boundary);
  if (upload.image.length === 0) throw new Failure('image_missing', 'the image is empty');
  if (upload.image.length > limit) {
    throw new Failure('body_too_large', `the image has ${upload.image.length} bytes, allowed are ${limit}`);
  }
  return upload;
}

async function readForm(deps: EdgeDeps, c: EdgeContext, type: string, boundary: string | undefined): Promise<Upload> {
  const limit = deps.config.maxBodyBytes;
  if (type.startsWith('image/') || type === 'application/octet-stream') {
    const digesting = startDigests();
    return { image: await deps.readBody(c, limit, digesting.update), given: noParams, digests: digesting.end };
  }
  if (type === 'multipart/form-data') {
    if (boundary === undefined) throw new Failure('invalid_multipart', 'the content-type header has no boundary');
    return fromMultipart(await deps.readBody(c, limit + envelopeBytes), boundary);
  }
  if (type === 'application/json') {
    return fromJson(await deps.readBody(c, Math.ceil((limit * 4) / 3) + envelopeBytes));
  }
  throw new Failure('unsupported_content_type', `"${type.slice(0, 64)}" is not read here; send ${allowed}`);
}

const noParams: Given = new Map();

function fromMultipart(body: Buffer, boundary: string): Upload {
  const given = new Map<string, unknown>();
  let image: Buffer | undefined;
  for (const part of parseMultipart(body, boundary)) {
    if (part.name === 'image') {
      if (image) throw new Failure('invalid_multipart', 'there are two fields "image"; send one image a request');
      image = part.data;
    } else {
      addGiven(given, part.name, paramText(part.name, part.isFile, part.data));
    }
  }
  if (!image) throw new Failure('image_missing', 'the form has no field "image"');
  return { image, given, digests: () => digestsOf(image) };
}

function paramText(name: string, isFile: boolean, data: Buffer): string {
  const field = `field "${name.slice(0, 64)}"`;
  if (isFile) throw new Failure('invalid_multipart', `${field} is a file; the image goes into the field "image"`);
  if (data.length > longestParam) throw new Failure('invalid_params', `${field} is longer than a parameter can be`);
  return data.toString('utf8');
}

// A record schema would drop members of some names without a word; which ones are allowed is checked by name later.
const paramsMember = z.custom<object>((value) => isObject(value), 'expected an object');
const jsonBody = z.strictObject({ image: z.string(), params: paramsMember.optional() });

function fromJson(body: Buffer): Upload {
  const parsed = jsonBody.safeParse(parseJson(body));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    if (issue?.path[0] === 'image' && issue.input === undefined) throw imageMissing(parsed.error);
    throw new Failure('invalid_json', issue ? describe(issue) : 'not readable');
  }
  const image = decodeBase64(parsed.data.image);
  return { image, given: new Map(Object.entries(parsed.data.params ?? {})), digests: () => digestsOf(image) };
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

function imageMissing(cause: unknown): Failure {
  return new Failure('image_missing', 'the body has no member "image"', { cause });
}

function describe(issue: { readonly path: readonly PropertyKey[]; readonly message: string }): string {
  const path = issue.path.map(String).join('.').slice(0, 64);
  return `${path === '' ? '' : `${path}: `}${issue.message.slice(0, 200)}`;
}
