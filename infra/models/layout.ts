/**
 * Which logical axis (as TensorFlow counts them) each stored axis holds: `layout[stored] = logical`. TensorFlow thinks in
 * NHWC, ONNX convolves in NCHW; carrying the layout along lets transposes of the source graph compose instead of run.
 */
export type Layout = readonly number[];

/** The stored order of a four-dimensional value whose logical axes are N, H, W, C. */
export const channelsFirst: Layout = [0, 3, 1, 2];

export function plainLayout(rank: number): Layout {
  return Array.from({ length: rank }, (_, axis) => axis);
}

/** The layout after a TensorFlow Transpose (new logical axis j is the old axis `permutation[j]`); nothing moves. */
export function transposedLayout(layout: Layout, permutation: readonly number[]): Layout {
  return layout.map((logical) => permutation.indexOf(logical));
}

/** Where a logical axis is stored; negative axes count from the end. */
export function storedAxis(layout: Layout, logical: number): number {
  const stored = layout.indexOf(logical < 0 ? logical + layout.length : logical);
  if (stored < 0) throw new Error(`there is no axis ${String(logical)} among ${String(layout.length)}`);
  return stored;
}

/** The permutation that an ONNX Transpose needs to go from one layout to another; undefined where they agree. */
export function movesBetween(from: Layout, to: Layout): number[] | undefined {
  const moves = to.map((logical) => storedAxis(from, logical));
  return moves.every((source, target) => source === target) ? undefined : moves;
}

/** Values per logical axis, reordered as they are stored. */
export function inStoredOrder<T>(layout: Layout, perLogicalAxis: readonly T[]): T[] {
  return layout.map((logical) => itemAt(perLogicalAxis, logical));
}

/** The layout that remains when logical axes are removed. */
export function withoutAxes(layout: Layout, removed: readonly number[]): Layout {
  const kept = layout.filter((logical) => !removed.includes(logical));
  return kept.map((logical) => logical - removed.filter((axis) => axis < logical).length);
}

/** An element that must be there. */
export function itemAt<T>(list: ArrayLike<T>, index: number): T {
  const item = list[index];
  if (item === undefined) throw new Error(`there is no item ${String(index)} in a list of ${String(list.length)}`);
  return item;
}

/**
 * Reorders the elements of an array stored row by row, whatever they stand for.
 * @param axes the source axis of each target axis
 */
export function permuteElements(
  data: Uint8Array,
  elementBytes: number,
  shape: readonly number[],
  axes: readonly number[],
): Uint8Array {
  const strides = shape.map(
    (_, axis) => elementBytes * shape.slice(axis + 1).reduce((product, size) => product * size, 1),
  );
  const result = new Uint8Array(data.length);
  let written = 0;
  const copyFrom = (offset: number, depth: number): void => {
    if (depth === axes.length) {
      for (let byte = 0; byte < elementBytes; byte++) result[written++] = itemAt(data, offset + byte);
      return;
    }
    const axis = itemAt(axes, depth);
    const stride = itemAt(strides, axis);
    for (let index = 0; index < itemAt(shape, axis); index++) copyFrom(offset + index * stride, depth + 1);
  };
  if (data.length > 0) copyFrom(0, 0);
  return result;
}
