import type { Buffer } from 'node:buffer';
import { Failure } from '../../contracts/failure.js';
import type { EdgeDeps } from '../deps.js';
import { digestsOf, startDigests, type Digests } from '../digest.js';
import { addGiven, type Given } from '../query.js';
import type { EdgeContext } from '../request.js';
import { parseContentType } from './content-type.js';
import { envelopeBytes, imageFromJson, longestJson } from './json-image.js';
import { invalidMultipart, paramText, parseMultipart } from './multipart.js';

/** What a predict request carries. */
export interface Upload {
  readonly image: Buffer;
  /** Parameters that stand in the body. */
  readonly given: Given;
  /** To be asked once. */
  readonly digests: () => Digests;
}

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
    if (boundary === undefined) throw invalidMultipart('the content-type header has no boundary');
    return fromMultipart(await deps.readBody(c, limit + envelopeBytes), boundary);
  }
  if (type === 'application/json') {
    return fromJson(await deps.readBody(c, longestJson(limit)));
  }
  throw new Failure('unsupported_content_type', `"${type.slice(0, 64)}" is not read here; send ${allowed}`);
}

const noParams: Given = new Map();

function fromMultipart(body: Buffer, boundary: string): Upload {
  const given = new Map<string, unknown>();
  let image: Buffer | undefined;
  for (const part of parseMultipart(body, boundary)) {
    if (part.name === 'image') {
      if (image) throw invalidMultipart('there are two fields "image"; several images go to …/batch');
      image = part.data;
    } else {
      addGiven(given, part.name, paramText(part.name, part.isFile, part.data));
    }
  }
  if (!image) throw new Failure('image_missing', 'the form has no field "image"');
  return { image, given, digests: () => digestsOf(image) };
}

function fromJson(body: Buffer): Upload {
  const { image, given } = imageFromJson(body);
  return { image, given, digests: () => digestsOf(image) };
}
