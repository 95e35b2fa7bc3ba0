import type { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';

/** The MD5 names the bytes in keys; the SHA-256 vouches for them, since MD5 collisions can be made on purpose. */
export interface Digests {
  readonly md5: string;
  readonly sha256: string;
}

/** Both digests of an image, as lower-case hexadecimal. */
export function digestsOf(bytes: Uint8Array): Digests {
  const digesting = startDigests();
  digesting.update(bytes);
  return digesting.end();
}

/** Digests of an image that comes piece by piece: a piece that has just arrived is still in the processor's cache. */
export function startDigests(): { update(piece: Uint8Array): void; end(): Digests } {
  const [md5, sha256] = [createHash('md5'), createHash('sha256')];
  return {
    update: (piece) => {
      md5.update(piece);
      sha256.update(piece);
    },
    end: () => ({ md5: md5.digest('hex'), sha256: sha256.digest('hex') }),
  };
}

/**
 * An entity tag of an answer as it is stored. Its head names the task that made it; a task that ran again after Redis lost
 * a second of its writes may differ in its timing, so the tag is weak. Bytes in another form are hashed.
 */
export function entityTag(answer: Buffer): string {
  const id = idPattern.exec(answer.toString('latin1', 0, longestHead))?.[1];
  return `W/"${id ?? createHash('sha256').update(answer).digest('base64url').slice(0, 32)}"`;
}

const longestHead = 128;
const idPattern = /^\{"id":"([\w.-]+)"/;
