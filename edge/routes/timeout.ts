import { Failure } from '../../contracts/failure.js';
import type { EdgeConfig } from '../config.js';

/** Milliseconds that a request has where it says nothing, and at most. */
export interface Timeouts {
  readonly byDefault: number;
  readonly most: number;
}

/** Who comes back for the result may give it more time. */
export function timeoutsOf(config: EdgeConfig, respondAsync: boolean): Timeouts {
  const { defaultTimeoutMs, maxTimeoutMs, asyncTimeoutMs } = config;
  if (respondAsync) return { byDefault: asyncTimeoutMs, most: asyncTimeoutMs };
  return { byDefault: defaultTimeoutMs, most: maxTimeoutMs };
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
