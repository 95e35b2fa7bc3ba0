/** Milliseconds for which one reading serves by default: asking the system costs as much as settling a task. */
const defaultFreshForMs = 100;

let readAt = -Infinity;
let bytes = 0;

/** Resident memory of this process in bytes, at most `freshForMs` old. */
export function residentBytes(freshForMs = defaultFreshForMs): number {
  const now = performance.now();
  if (now - readAt >= freshForMs) {
    bytes = process.memoryUsage.rss();
    readAt = now;
  }
  return bytes;
}
