/** Random numbers that a seed repeats, so that what failed once fails again. */
export interface Random {
  /** A whole number from 0 to below `bound`. */
  int(bound: number): number;
  bytes(length: number): Buffer<ArrayBuffer>;
  pick<T>(from: readonly T[]): T;
  shuffled<T>(items: readonly T[]): T[];
}

/** A linear congruential generator modulo 2^32; its low bits are poor, so the upper ones are used. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const int = (bound: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(((state >>> 8) / 2 ** 24) * bound);
  };
  const pick = <T>(from: readonly T[]): T => {
    const picked = from[int(from.length)];
    if (picked === undefined) throw new Error('there is nothing to pick from');
    return picked;
  };
  return {
    int,
    pick,
    bytes: (length) => Buffer.from(Array.from({ length }, () => int(256))),
    shuffled: (items) => {
      const rest = [...items];
      return items.flatMap(() => rest.splice(int(rest.length), 1));
    },
  };
}
