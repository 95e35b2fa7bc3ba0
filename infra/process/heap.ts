import { setFlagsFromString } from 'node:v8';

/**
 * Lets the old generation grow to four times what was alive before it is collected. V8 chooses between 1.1 and 4 by how
 * busy a program is, and images that wait for their results, in memory outside its heap, count as growth: an edge that
 * is not busy then collects its whole heap for every twenty images. Measured in test/bench/README.md.
 */
export function growHeapFreely(): void {
  setFlagsFromString('--heap-growing-percent=300');
}
