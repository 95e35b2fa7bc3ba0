/**
 * Behaves as if told to stop once npm is gone: npm and the shell between it and us end at a SIGTERM of their own
 * without passing it on, and what we started would stay.
 */
export function stopWithNpm() {
  if (process.env['npm_lifecycle_event'] === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, 250);
  timer.unref();
}
