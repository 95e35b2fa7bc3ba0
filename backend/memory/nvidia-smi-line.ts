/** What one line of `nvidia-smi --query-gpu=index,memory.used,memory.total` says. */
export type SmiLine =
  | { readonly kind: 'figures'; readonly usedBytes: number; readonly limitBytes: number }
  /** The card is there, its memory is not told: `[N/A]`, `[Insufficient Permissions]` and the like. */
  | { readonly kind: 'hidden'; readonly why: string }
  | { readonly kind: 'words'; readonly words: string };

const mebibyte = 1024 * 1024;
const longestWords = 200;

/** Reads a line that is not empty; figures are told in MiB. */
export function readSmiLine(line: string): SmiLine {
  const [index = '', used = '', total = '', ...more] = line.split(',').map((field) => field.trim());
  const isRow = isWhole(index) && total !== '' && more.length === 0;
  if (!isRow) return { kind: 'words', words: line.slice(0, longestWords) };
  if (isWhole(used) && isWhole(total) && Number(total) > 0) {
    return { kind: 'figures', usedBytes: Number(used) * mebibyte, limitBytes: Number(total) * mebibyte };
  }
  const why = [used, total].find((field) => !isWhole(field)) ?? `${used} of ${total} MiB`;
  return { kind: 'hidden', why: why.slice(0, longestWords) };
}

const isWhole = (text: string): boolean => /^\d{1,9}$/.test(text);

/**
 * The name by which nvidia-smi knows a device of this process. It counts all cards of the host, while CUDA counts
 * those that `CUDA_VISIBLE_DEVICES` lists.
 * @param index of the device, as the runtime is told
 * @param visible the value of that variable
 */
export function smiDevice(index: number, visible: string | undefined): string {
  if (visible === undefined || visible === '') return String(index);
  return visible.split(',')[index]?.trim() ?? String(index);
}
