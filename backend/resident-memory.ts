/** Milliseconds for which one reading serves: asking the system costs as much as settling a task. */
const freshForMs = 100;

let readAt = -Infinity;
let bytes = 0;

/** Resident memory of this process in bytes, at most a tenth of a second old. */
export function residentBytes(): number {
  const now = performance.now();
  if (now - readAt >= freshForMs) {
    bytes = process.memoryUsage.rss();
    readAt = now;
  }
  return bytes;
}
