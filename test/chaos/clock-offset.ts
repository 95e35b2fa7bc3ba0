/**
 * Loaded ahead of a part (`--import`): its host's clock is off by SAMPAN_TEST_CLOCK_OFFSET_MS. What is measured with a
 * monotonic clock stays right, as it does on a real host.
 */
const offsetMs = Number(process.env['SAMPAN_TEST_CLOCK_OFFSET_MS'] ?? 0);

if (offsetMs !== 0) {
  const rightNow = Date.now;
  const now = () => rightNow() + offsetMs;
  globalThis.Date = new Proxy(Date, {
    construct: (date, given: unknown[], target): Date =>
      Reflect.construct(date, given.length > 0 ? given : [now()], target) as Date,
    apply: () => new Date(now()).toString(),
    get: (date, name, receiver): unknown => (name === 'now' ? now : Reflect.get(date, name, receiver)),
  });
  Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + offsetMs });
}
