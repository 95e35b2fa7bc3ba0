import { Failure } from '../../contracts/failure.js';

/** Milliseconds that a request has where it says nothing, and at most. */
export interface Timeouts {
  readonly byDefault: number;
  readonly most: number;
}

/**
 * Milliseconds that a caller gives its request, from the header `x-timeout-ms`.
 * @throws Failure invalid_header
 */
export function timeoutFrom(header: string | undefined, { byDefault, most }: Timeouts): number {
  if (header === undefined) return byDefault;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) : 0;
  if (ms >= 1 && ms <= most) return ms;
  throw new Failure('invalid_header', `x-timeout-ms must be a whole number from 1 to ${most}`);
}
