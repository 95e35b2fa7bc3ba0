/** What is told about every request. */
export interface AccessRecord {
  readonly requestId: string;
  readonly traceId: string;
  readonly tenant: string | undefined;
  readonly clientAddress: string;
  readonly method: string;
  readonly endpoint: string;
  readonly model: string | undefined;
  readonly bytes: number | undefined;
  readonly pixels: number | undefined;
  readonly cache: string;
  readonly status: number;
  readonly code: string | undefined;
  readonly ms: number;
}

/** A log that is behind by so many records writes at once: memory is bounded. */
const mostCollected = 10_000;

/**
 * Collects records and writes them after the answers of this turn of the event loop are on their way.
 * @param defer runs a function soon
 */
export function createAccessLog(
  write: (record: AccessRecord) => void,
  defer: (flush: () => void) => unknown,
): { log(record: AccessRecord): void; flush(): void } {
  let collected: AccessRecord[] = [];
  const flush = () => {
    const records = collected;
    collected = [];
    for (const record of records) write(record);
  };
  return {
    log: (record) => {
      if (collected.push(record) === 1) defer(flush);
      if (collected.length >= mostCollected) flush();
    },
    flush,
  };
}
