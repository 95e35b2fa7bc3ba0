import { Buffer } from 'node:buffer';

/** A body that is taken bit by bit, so that no more of it is held than its taker asks for. */
export interface ByteSource {
  /**
   * All bytes before the next delimiter, which is taken too. More than `most` are passed over and thrown away.
   * @returns 'ended' where the body ends without one; `rest` has what was left then, if it was not too long
   */
  until(delimiter: Buffer, most: number): Promise<Buffer | 'too long' | 'ended'>;
  /** What was left without a delimiter when the body ended; undefined where that was too long. */
  rest(): Buffer | undefined;
}

/** @param first taken as if it stood before the body */
export function byteSource(pieces: AsyncIterator<Uint8Array>, first: Buffer): ByteSource {
  let arrived = first;
  let rest: Buffer | undefined = Buffer.alloc(0);
  return {
    until: async (delimiter, most) => {
      const taken = collector(most);
      for (;;) {
        const at = arrived.indexOf(delimiter);
        if (at >= 0) {
          taken.add(arrived.subarray(0, at));
          arrived = arrived.subarray(at + delimiter.length);
          return taken.end() ?? 'too long';
        }
        // The end of what has arrived may be the beginning of a delimiter.
        const sure = Math.max(0, arrived.length - delimiter.length + 1);
        taken.add(arrived.subarray(0, sure));
        const tail = arrived.subarray(sure);
        const next = await pieces.next();
        if (next.done) {
          taken.add(tail);
          rest = taken.end();
          arrived = Buffer.alloc(0);
          return 'ended';
        }
        arrived = Buffer.concat([tail, next.value]);
      }
    },
    rest: () => rest,
  };
}

/** Collects up to `most` bytes; what is beyond them is not kept. */
function collector(most: number) {
  let pieces: Buffer[] = [];
  let length = 0;
  return {
    add: (piece: Buffer) => {
      length += piece.length;
      if (length > most) pieces = [];
      else if (piece.length > 0) pieces.push(piece);
    },
    end: () => (length > most ? undefined : Buffer.concat(pieces)),
  };
}
