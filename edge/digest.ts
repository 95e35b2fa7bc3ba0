import { createHash } from 'node:crypto';

/** The MD5 names the bytes in keys; the SHA-256 vouches for them, since MD5 collisions can be made on purpose. */
export interface Digests {
  readonly md5: string;
  readonly sha256: string;
}

/** Both digests of an image, as lower-case hexadecimal. */
export function digestsOf(bytes: Uint8Array): Digests {
  return {
    md5: createHash('md5').update(bytes).digest('hex'),
    sha256: createHash('sha256').update(bytes).digest('hex'),
  };
}

/** A strong entity tag: equal only for equal bytes. */
export function entityTag(bytes: Uint8Array): string {
  return `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 32)}"`;
}
