import { Buffer } from 'node:buffer';

/** A body that is taken bit by bit, so that no more of it is held than its taker asks for. */
export interface ByteSource {
  /**
   * All bytes before the next delimiter, which is taken too. More than `most` are passed over and thrown away.
   * They are the caller's until the next call: their memory is used again then.
   * @returns 'ended' where the body ends without one; `rest` has what was left then, if it was not too long
   */
  until(delimiter: Buffer, most: number): Promise<Buffer | 'too long' | 'ended'>;
  /**
   * Passes over blanks and line breaks.
   * @returns whether there were no more than `most` of them
   */
  skipBlank(most: number): Promise<boolean>;
  /** What was left without a delimiter when the body ended; undefined where that was too long. */
  rest(): Buffer | undefined;
}

/** @param first taken as if it stood before the body */
export function byteSource(pieces: AsyncIterator<Uint8Array>, first: Buffer): ByteSource {
  const taken = collector();
  let arrived = first;
  let rest: Buffer | undefined = noBytes;
  return {
    until: async (delimiter, most) => {
      taken.begin(most);
      for (;;) {
        const at = arrived.indexOf(delimiter);
        if (at >= 0) {
          taken.add(arrived.subarray(0, at));
          arrived = arrived.subarray(at + delimiter.length);
          return taken.end() ?? 'too long';
        }
        // The end of what has arrived may be the beginning of a delimiter; that alone is joined with what comes next.
        const sure = Math.max(0, arrived.length - delimiter.length + 1);
        taken.add(arrived.subarray(0, sure));
        const tail = arrived.subarray(sure);
        const next = await pieces.next();
        if (next.done) {
          taken.add(tail);
          rest = taken.end();
          arrived = noBytes;
          return 'ended';
        }
        const piece = asBuffer(next.value);
        const seam = Buffer.concat([tail, piece.subarray(0, delimiter.length)]);
        if (piece.length <= delimiter.length || seam.includes(delimiter)) {
          arrived = Buffer.concat([seam, piece.subarray(delimiter.length)]);
        } else {
          taken.add(tail);
          arrived = piece;
        }
      }
    },
    skipBlank: async (most) => {
      for (let skipped = 0; skipped <= most;) {
        const at = firstOfText(arrived);
        skipped += at;
        arrived = arrived.subarray(at);
        if (arrived.length > 0) return skipped <= most;
        const next = await pieces.next();
        if (next.done) return true;
        arrived = asBuffer(next.value);
      }
      return false;
    },
    rest: () => rest,
  };
}

const blanks = new Set([0x20, 0x09, 0x0d, 0x0a]);

function firstOfText(bytes: Buffer): number {
  let at = 0;
  while (at < bytes.length && blanks.has(bytes[at] ?? 0)) at += 1;
  return at;
}

const noBytes = Buffer.alloc(0);

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

const leastCapacity = 64 * 1024;

/**
 * Collects up to `most` bytes; what is beyond them is not kept. One piece of memory, that grows, serves all: a new one for
 * each image would be collected as garbage too late.
 */
function collector() {
  let collected: Buffer = noBytes;
  let length = 0;
  let most = 0;
  return {
    begin: (limit: number) => {
      length = 0;
      most = limit;
    },
    add: (piece: Buffer) => {
      const end = length + piece.length;
      if (end <= most) {
        if (end > collected.length) collected = grown(collected.subarray(0, length), Math.max(leastCapacity, 2 * end));
        piece.copy(collected, length);
      }
      length = end;
    },
    end: () => (length > most ? undefined : collected.subarray(0, length)),
  };
}

function grown(bytes: Buffer, capacity: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(capacity);
  bytes.copy(larger);
  return larger;
}
