import { Buffer } from 'node:buffer';
import { Failure } from '../../contracts/failure.js';
import type { EdgeDeps } from '../deps.js';
import type { Given } from '../query.js';
import type { EdgeContext } from '../request.js';
import { byteSource } from './byte-source.js';
import { parseContentType } from './content-type.js';
import { beforeForm, formImages } from './form-images.js';
import { lineImages } from './line-images.js';
import { invalidMultipart } from './multipart.js';

/** One picture of many, to be done with before the next is asked for; or why it cannot be read, while those after it can. */
export type BatchImage = {
  /** The file's, where it came as one. */
  readonly name?: string | undefined;
  readonly given: Given;
} & ({ readonly image: Buffer } | { readonly failure: Failure });

const allowed = 'multipart/form-data or application/x-ndjson';

/**
 * The pictures of a request, each read when it is asked for: of the body no more is held than one of them, always in the
 * same memory, since V8 collects what is outside its heap late.
 * @throws Failure unsupported_content_type | invalid_multipart | body_incomplete | invalid_params, while it is read
 */
export async function* readImages(deps: EdgeDeps, c: EdgeContext): AsyncGenerator<BatchImage> {
  const { maxBodyBytes } = deps.config;
  const { type, boundary } = parseContentType(c.req.header('content-type')) ?? noContent;
  const pieces = deps.bodyPieces(c)[Symbol.asyncIterator]();
  try {
    if (type === 'multipart/form-data') {
      if (boundary === undefined) throw invalidMultipart('the content-type header has no boundary');
      yield* formImages(byteSource(pieces, beforeForm), boundary, maxBodyBytes);
    } else if (type === 'application/x-ndjson') {
      yield* lineImages(byteSource(pieces, Buffer.alloc(0)), maxBodyBytes);
    } else {
      const what = type === '' ? 'no content-type was sent' : `"${type.slice(0, 64)}" is not read here`;
      throw new Failure('unsupported_content_type', `${what}; send ${allowed}`);
    }
  } finally {
    // The rest of the body is anybody's now.
    await pieces.return?.();
  }
}

const noContent = { type: '', boundary: undefined };
