import { Buffer } from 'node:buffer';

/** Where bytes were copied: the function of the runtime that did it, and how many bytes. */
export interface Copied {
  readonly by: string;
  readonly bytes: number;
}

/**
 * Notes every copy of at least so many bytes that JavaScript makes in this process while `work` is under way. What the
 * kernel and native code copy is not seen.
 */
export async function copiesDuring(leastBytes: number, work: () => Promise<unknown>): Promise<readonly Copied[]> {
  const copies: Copied[] = [];
  const note = (by: string, bytes: number) => {
    if (bytes >= leastBytes) copies.push({ by, bytes });
  };
  const { concat, from } = Buffer;
  const { copy, toString } = Buffer.prototype;
  const { set, slice } = Uint8Array.prototype;
  Object.assign(Buffer, {
    concat: (list: readonly Uint8Array[], total?: number) => {
      const joined = concat(list, total);
      note('Buffer.concat', joined.length);
      return joined;
    },
    from: (value: unknown, ...rest: unknown[]) => {
      // A view of an ArrayBuffer copies nothing.
      if (typeof value === 'string' || value instanceof Uint8Array) note('Buffer.from', value.length);
      return Reflect.apply(from, Buffer, [value, ...rest]);
    },
  });
  Object.assign(Buffer.prototype, {
    copy(this: Buffer, ...args: Parameters<typeof copy>) {
      const copied = copy.apply(this, args);
      note('copy', copied);
      return copied;
    },
    toString(this: Buffer, ...args: Parameters<typeof toString>) {
      const text = toString.apply(this, args);
      note('toString', text.length);
      return text;
    },
  });
  Object.assign(Uint8Array.prototype, {
    set(this: Uint8Array, ...args: Parameters<typeof set>) {
      note('set', args[0].length);
      set.apply(this, args);
    },
    slice(this: Uint8Array, ...args: Parameters<typeof slice>) {
      const sliced = slice.apply(this, args);
      note('slice', sliced.length);
      return sliced;
    },
  });
  try {
    await work();
  } finally {
    Object.assign(Buffer, { concat, from });
    Object.assign(Buffer.prototype, { copy, toString });
    Object.assign(Uint8Array.prototype, { set, slice });
  }
  return copies;
}
