/** Items that are prepared while those before them are used. */
export interface Ahead<Item> {
  /** What is prepared, oldest first, at most so many; waits for the first, and is empty once nothing more comes. */
  take(most: number): Promise<Item[]>;
}

/**
 * Prepares items 0 to count − 1, so many of them ahead of who takes them.
 * @param prepare may end in any order
 */
export function prepareAhead<Item>(
  prepare: (index: number) => Promise<Item>,
  { count, ahead }: { readonly count: number; readonly ahead: number },
): Ahead<Item> {
  const ready: Item[] = [];
  let [begun, underWay] = [0, 0];
  let failure: { readonly error: unknown } | undefined;
  let waiting: (() => void)[] = [];
  const wakeAll = () => {
    const woken = waiting;
    waiting = [];
    for (const wake of woken) wake();
  };
  const prepareOne = async () => {
    underWay++;
    try {
      ready.push(await prepare(begun++));
    } catch (error) {
      failure = { error };
    } finally {
      underWay--;
      wakeAll();
    }
  };
  const prepareMore = () => {
    while (begun < count && underWay + ready.length < ahead) void prepareOne();
  };
  prepareMore();
  return {
    take: async (most) => {
      while (ready.length === 0 && underWay > 0 && !failure)
        await new Promise<void>((resolve) => waiting.push(resolve));
      if (failure) throw failure.error;
      const taken = ready.splice(0, most);
      prepareMore();
      return taken;
    },
  };
}
