/** What an array of requests and a timer make of an inference server. */
export interface WindowQueue<Item, Answer> {
  /** Undefined where no more may wait; else the answer, once the item's batch is done. */
  add(item: Item): Promise<Answer> | undefined;
}

export interface WindowOptions {
  /** Items that close a batch at once. */
  readonly size: number;
  /** Milliseconds after which a batch is closed that is not full; counted from its first item. */
  readonly windowMs: number;
  /** Batches that may be under way at a time; what comes meanwhile waits in the array. */
  readonly atOnce: number;
  /** Items that may be waiting or under way; beyond that they are refused. */
  readonly mostHeld?: number;
}

interface Held<Item, Answer> {
  readonly item: Item;
  readonly addedAt: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** @param work answers one per item, in order */
export function createWindowQueue<Item, Answer>(
  { size, windowMs, atOnce, mostHeld = Infinity }: WindowOptions,
  work: (batch: readonly Item[]) => Promise<readonly Answer[]>,
): WindowQueue<Item, Answer> {
  const queue: Held<Item, Answer>[] = [];
  let [held, underWay] = [0, 0];
  let timer: NodeJS.Timeout | undefined;

  const close = () => {
    clearTimeout(timer);
    timer = undefined;
    const batch = queue.splice(0, size);
    underWay++;
    void runBatch(batch, work).then(() => {
      underWay--;
      held -= batch.length;
      closeWhatIsDue();
    });
  };
  const closeWhatIsDue = () => {
    while (underWay < atOnce && queue[0]) {
      const leftMs = queue.length >= size ? 0 : queue[0].addedAt + windowMs - performance.now();
      if (leftMs > 0) {
        timer ??= setTimeout(() => {
          timer = undefined;
          closeWhatIsDue();
        }, leftMs);
        return;
      }
      close();
    }
  };
  return {
    add: (item) => {
      if (held >= mostHeld) return undefined;
      held++;
      return new Promise((resolve, reject) => {
        queue.push({ item, addedAt: performance.now(), resolve, reject });
        closeWhatIsDue();
      });
    },
  };
}

async function runBatch<Item, Answer>(
  batch: readonly Held<Item, Answer>[],
  work: (batch: readonly Item[]) => Promise<readonly Answer[]>,
): Promise<void> {
  try {
    const answers = await work(batch.map(({ item }) => item));
    batch.forEach(({ resolve, reject }, i) => {
      const answer = answers[i];
      if (answer === undefined) reject(new Error('a batch answered too few'));
      else resolve(answer);
    });
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}
