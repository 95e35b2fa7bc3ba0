import { itemAt } from './layout.js';
import type { Constant, Operand } from './graph-builder.js';
import type { Weight } from './tfjs-graph.js';

/** The integers of an operand that must be known when converting: axes, shapes, paddings. */
export function knownIntegers(operand: Operand | undefined, what: string): readonly number[] {
  if (operand?.kind !== 'constant' || operand.weight.form !== 'int32')
    throw new Error(`${what} is not a known list of integers`);
  const { data } = operand.weight;
  return Array.from(new Int32Array(data.buffer, data.byteOffset, data.byteLength / Int32Array.BYTES_PER_ELEMENT));
}

/** The one number that a constant holds. */
export function knownNumber(operand: Operand | undefined, what: string): number {
  if (operand?.kind !== 'constant') throw new Error(`${what} is not known when converting`);
  const { form, data, quantization } = operand.weight;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  switch (form) {
    case 'float32':
      return view.getFloat32(0, true);
    case 'int32':
      return view.getInt32(0, true);
    case 'float16':
      return float16(view.getUint16(0, true));
    case 'uint8':
      return itemAt(data, 0) * (quantization?.scale ?? 1) + (quantization?.min ?? 0);
  }
}

/** A list of integers as a constant, for what is computed while converting. */
export function integerConstant(name: string, shape: readonly number[], values: readonly number[]): Constant {
  const data = new Uint8Array(Int32Array.from(values).buffer);
  const weight: Weight = { name, shape, form: 'int32', data };
  return { kind: 'constant', weight };
}

/** IEEE 754 binary16: 1 sign bit, 5 exponent bits with bias 15, 10 fraction bits. */
function float16(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = (bits & 0x3ff) / 1024;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : NaN;
  return exponent === 0 ? sign * fraction * 2 ** -14 : sign * (1 + fraction) * 2 ** (exponent - 15);
}
