import { uuidv7 } from '../../contracts/uuid.js';

const allowed = /^[A-Za-z0-9._-]{1,128}$/;

/** The caller's own id of a request where it is harmless in logs and headers, else a new one that sorts by time. */
export function requestIdFrom(given: string | undefined): string {
  return given !== undefined && allowed.test(given) ? given : uuidv7();
}
