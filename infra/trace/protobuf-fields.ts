import type { Buffer } from 'node:buffer';

/** One field of a protobuf message, as the wire format has it: a number's bits, or the bytes of what has a length. */
export type Field =
  | { readonly number: number; readonly bits: bigint; readonly bytes?: undefined }
  | { readonly number: number; readonly bytes: Buffer; readonly bits?: undefined };

/**
 * Reads the fields of a message in the order they stand; which type a field has only its reader knows.
 * Wire format: https://protobuf.dev/programming-guides/encoding/
 * @throws RangeError where the message is cut short or no protobuf at all
 */
export function* fieldsOf(message: Buffer): Generator<Field> {
  let offset = 0;
  while (offset < message.length) {
    const tag = readVarint(message, offset);
    const number = Number(tag.value >> 3n);
    const start = tag.end;
    switch (Number(tag.value & 7n)) {
      case 0: {
        const { value, end } = readVarint(message, start);
        yield { number, bits: value };
        offset = end;
        break;
      }
      case 1:
        yield { number, bits: message.readBigUInt64LE(start) };
        offset = start + 8;
        break;
      case 2: {
        const length = readVarint(message, start);
        offset = length.end + Number(length.value);
        if (offset > message.length) throw new RangeError('a field is longer than its message');
        yield { number, bytes: message.subarray(length.end, offset) };
        break;
      }
      case 5:
        yield { number, bits: BigInt(message.readUInt32LE(start)) };
        offset = start + 4;
        break;
      default:
        throw new RangeError('a field has a wire type that is not known');
    }
  }
}

/** The number whose IEEE 754 bits these are. */
export function doubleFromBits(bits: bigint): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, bits);
  return view.getFloat64(0);
}

function readVarint(message: Buffer, start: number): { value: bigint; end: number } {
  let value = 0n;
  for (let i = 0; i < 10; i += 1) {
    const byte = message.readUInt8(start + i);
    value |= BigInt(byte & 0x7f) << BigInt(7 * i);
    if (byte < 0x80) return { value, end: start + i + 1 };
  }
  throw new RangeError('a number has more than ten bytes');
}
