import { Failure } from '../../contracts/failure.js';
import type { EdgeConfig } from '../config.js';

/**
 * Milliseconds that a caller gives its request, from the header `x-timeout-ms`.
 * @throws Failure invalid_header
 */
export function timeoutFrom(header: string | undefined, config: EdgeConfig): number {
  if (header === undefined) return config.defaultTimeoutMs;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) : 0;
  if (ms >= 1 && ms <= config.maxTimeoutMs) return ms;
  throw new Failure('invalid_header', `x-timeout-ms must be a whole number from 1 to ${config.maxTimeoutMs}`);
}
