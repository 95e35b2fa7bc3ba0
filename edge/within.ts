/**
 * Settles as the promise does, or rejects once the time is over; a late outcome is dropped. A process that was busy
 * itself blames nobody: an answer that has arrived meanwhile is read before the time is called.
 * @param ms the bound, in milliseconds
 * @param failure what it is rejected with
 */
export function within<T>(
  ms: number,
  promise: Promise<T>,
  failure = () => new Error(`no answer within ${ms} ms`),
): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(failure());
    let timer = setTimeout(() => (timer = setTimeout(giveUp, 1)), ms);
    promise.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}
