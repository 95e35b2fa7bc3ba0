import { ask, type Asked } from './tenants.js';

/** One picture's part of a batch's answer, as tests look at it. */
export interface BatchItem {
  readonly index: number;
  readonly name?: string;
  readonly status: number;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly answer?: any;
  readonly problem?: { readonly code: string; readonly detail: string; readonly status: number };
}

/** A form with so many files of the field `image`. */
export function formOf(
  images: readonly Uint8Array<ArrayBuffer>[],
  fields: Readonly<Record<string, string>> = {},
): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  images.forEach((image, i) => form.append('image', new Blob([image]), `picture-${String(i)}.jpg`));
  return form;
}

/** One line for each picture. */
export function linesOf(images: readonly Buffer[]): string {
  return images.map((image) => `${JSON.stringify({ image: image.toString('base64') })}\n`).join('');
}

/** Sends a batch and waits for its whole answer; its items are in the body where it has any. */
export async function sendBatch(
  base: string,
  model: string,
  { key = '', query = '', ...init }: RequestInit & { readonly key?: string; readonly query?: string },
): Promise<Asked & { readonly items: readonly BatchItem[] }> {
  const asked = await ask(`${base}/v1/models/${model}/batch${query}`, key, { method: 'POST', ...init });
  return { ...asked, items: itemsOf(asked.body) };
}

function itemsOf(body: unknown): readonly BatchItem[] {
  if (Array.isArray(body)) return body as BatchItem[];
  if (typeof body !== 'string') return [];
  return body
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as BatchItem);
}
