/** Where a request that contains a wanted text ends. */
export interface Found {
  readonly text: Buffer;
  /** Offset into the chunk that was taken, right behind the request. */
  readonly end: number;
}

/** Follows what a client sends to Redis, over the borders of chunks. */
export interface RequestFollower {
  /**
   * Takes the next bytes. Answers when a request that contains one of the texts is complete with them; the text may
   * have stood in an earlier chunk. A transaction, from MULTI to EXEC, is one request.
   */
  take(chunk: Buffer, wanted: readonly Buffer[]): Found | undefined;
}

export function requestFollower(): RequestFollower {
  const nextEnds = requestEnds();
  /** As many of the last bytes as a text may be begun by. */
  let tail = Buffer.alloc(0);
  let seen: Buffer | undefined;
  return {
    take: (chunk, wanted) => {
      const ends = nextEnds(chunk);
      let from = 0;
      if (!seen) {
        const searched = Buffer.concat([tail, chunk]);
        seen = wanted.find((text) => searched.includes(text));
        if (seen) from = searched.indexOf(seen) + seen.length - tail.length;
        const reach = Math.max(0, ...wanted.map((text) => text.length - 1));
        tail = reach === 0 ? Buffer.alloc(0) : Buffer.from(searched.subarray(-reach));
      }
      const end = seen && ends.find((offset) => offset >= from);
      return seen && end !== undefined ? { text: seen, end } : undefined;
    },
  };
}

/** What is being read: the rest of a command, in the protocol's form of an array of counted strings. */
interface Reading {
  line: string;
  argumentsLeft: number;
  /** Bytes of the present argument that are still to come, its line end included. */
  bytesLeft: number;
  /** The command's name, or as much of it as was needed to know it. */
  name: string;
  isName: boolean;
  inTransaction: boolean;
}

/** Answers, for each chunk, the offsets behind which a request is complete. */
function requestEnds(): (chunk: Buffer) => number[] {
  const reading: Reading = {
    ...{ line: '', argumentsLeft: 0, bytesLeft: 0, name: '', isName: false, inTransaction: false },
  };
  return (chunk) => {
    const ends: number[] = [];
    let at = 0;
    while (at < chunk.length) {
      const step = reading.bytesLeft > 0 ? readArgument(reading, chunk, at) : readLine(reading, chunk, at);
      at += step.read;
      if (step.complete && !staysOpen(reading)) ends.push(at);
    }
    return ends;
  };
}

interface Step {
  readonly read: number;
  /** Whether a command is complete. */
  readonly complete: boolean;
}

function readArgument(reading: Reading, chunk: Buffer, at: number): Step {
  const read = Math.min(reading.bytesLeft, chunk.length - at);
  if (reading.isName) reading.name += chunk.toString('latin1', at, at + Math.min(read, 16));
  reading.bytesLeft -= read;
  if (reading.bytesLeft > 0) return { read, complete: false };
  reading.isName = false;
  reading.argumentsLeft -= 1;
  return { read, complete: reading.argumentsLeft === 0 };
}

/** A line says how many arguments, or how many bytes, are to come; anything else is a command by itself. */
function readLine(reading: Reading, chunk: Buffer, at: number): Step {
  const newline = chunk.indexOf(0x0a, at);
  const read = (newline < 0 ? chunk.length : newline + 1) - at;
  reading.line += chunk.toString('latin1', at, at + read);
  if (newline < 0) return { read, complete: false };
  const { line } = reading;
  reading.line = '';
  const count = Number.parseInt(line.slice(1), 10);
  if (line.startsWith('*')) {
    Object.assign(reading, { argumentsLeft: count, name: '', isName: true });
    return { read, complete: false };
  }
  if (line.startsWith('$')) {
    reading.bytesLeft = count + 2;
    return { read, complete: false };
  }
  reading.name = line;
  return { read, complete: true };
}

/** Whether the command that was just read is part of a transaction that goes on. */
function staysOpen(reading: Reading): boolean {
  const name = reading.name.trim().toLowerCase();
  if (name === 'multi') reading.inTransaction = true;
  if (name === 'exec' || name === 'discard') reading.inTransaction = false;
  return reading.inTransaction;
}
