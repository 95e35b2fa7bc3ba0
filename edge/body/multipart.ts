import { Buffer } from 'node:buffer';
import { Failure } from '../../contracts/failure.js';

/** One field of a form; `data` is a view of the body, not a copy. */
export interface FormPart {
  readonly name: string;
  readonly isFile: boolean;
  readonly fileName: string | undefined;
  readonly data: Buffer;
}

const mostParts = 32;
/** Bytes of a part's headers. */
export const longestPartHead = 8192;
const longestParam = 256;
const lineEnd = Buffer.from('\r\n');
const headEnd = Buffer.from('\r\n\r\n');

/**
 * Splits a multipart/form-data body (RFC 7578, RFC 2046, 5.1) into its fields, in one pass.
 * @throws Failure invalid_multipart, saying where the form is broken
 */
export function parseMultipart(body: Buffer, boundary: string): readonly FormPart[] {
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  const parts: FormPart[] = [];
  let at = skipPreamble(body, delimiter);
  while (!endsForm(body, at)) {
    if (parts.length === mostParts) throw invalidMultipart(`there are more than ${mostParts} parts`);
    const head = startOfHead(body, at);
    const end = body.indexOf(headEnd, head - lineEnd.length);
    if (end < 0 || end - head > longestPartHead) throw invalidMultipart('the headers of a part do not end');
    const start = end + headEnd.length;
    // Part and headers may both be empty, so the search starts at the line break that ends the headers.
    const next = body.indexOf(delimiter, start - lineEnd.length);
    if (next < 0) throw invalidMultipart('the body ends before its closing boundary');
    parts.push({
      ...parsePartHead(body.toString('utf8', head, end)),
      data: body.subarray(start, Math.max(start, next)),
    });
    at = next + delimiter.length;
  }
  return parts;
}

/** Answers the place behind the first delimiter, which needs no line break before it. */
function skipPreamble(body: Buffer, delimiter: Buffer): number {
  const first = delimiter.subarray(lineEnd.length);
  if (body.subarray(0, first.length).equals(first)) return first.length;
  const at = body.indexOf(delimiter);
  if (at < 0) throw invalidMultipart('the boundary of the content-type header does not occur in the body');
  return at + delimiter.length;
}

function endsForm(body: Buffer, at: number): boolean {
  return body[at] === 0x2d && body[at + 1] === 0x2d;
}

/** Behind a delimiter come blanks, if any, and a line break. */
function startOfHead(body: Buffer, at: number): number {
  let start = at;
  while (body[start] === 0x20 || body[start] === 0x09) start += 1;
  if (body[start] === 0x0d && body[start + 1] === 0x0a) return start + lineEnd.length;
  throw invalidMultipart(
    at >= body.length ? 'the body ends before its closing boundary' : 'no line break behind a boundary',
  );
}

/** What the headers of a part say. @throws Failure invalid_multipart */
export function parsePartHead(head: string): Omit<FormPart, 'data'> {
  let disposition: string | undefined;
  for (const line of head.split('\r\n')) {
    const header = line.toLowerCase();
    if (header.startsWith('content-disposition:')) disposition = line;
    if (header.startsWith('content-transfer-encoding:') && !/:\s*(binary|8bit|7bit)\s*$/.test(header)) {
      throw invalidMultipart('a content-transfer-encoding other than binary is not read here');
    }
  }
  if (disposition === undefined || !/^[^:]*:\s*form-data\s*(;|$)/i.test(disposition)) {
    throw invalidMultipart('a part has no "content-disposition: form-data"');
  }
  const name = /;\s*name=(?:"([^"]*)"|([^\s;"]+))/i.exec(disposition);
  if (!name) throw invalidMultipart('a part has no name');
  const fileName = /;\s*filename=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/i.exec(disposition);
  return {
    name: name[1] ?? name[2] ?? '',
    isFile: /;\s*filename\*?=/i.test(disposition),
    fileName: fileName?.[1]?.replace(/\\(["\\])/g, '$1') ?? fileName?.[2],
  };
}

/**
 * A field that is a parameter.
 * @throws Failure invalid_multipart | invalid_params
 */
export function paramText(name: string, isFile: boolean, data: Buffer): string {
  const field = `field "${name.slice(0, 64)}"`;
  if (isFile) throw invalidMultipart(`${field} is a file; images go into the field "image"`);
  if (data.length > longestParam) throw new Failure('invalid_params', `${field} is longer than a parameter can be`);
  return data.toString('utf8');
}

export function invalidMultipart(detail: string): Failure {
  return new Failure('invalid_multipart', detail);
}
