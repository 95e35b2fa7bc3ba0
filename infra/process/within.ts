/** Settles with the promise or after the time, whichever is first; that it failed is no matter. */
export async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([promise.then(undefined, () => undefined), limit]);
  clearTimeout(timer);
}
