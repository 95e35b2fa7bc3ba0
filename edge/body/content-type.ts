/** A media type in lower case and its parameters. */
export interface ContentType {
  readonly type: string;
  readonly boundary: string | undefined;
}

/** Quoted or plain, as RFC 9110, 8.3.1 has it; at most the 70 characters that RFC 2046, 5.1.1 allows. */
const boundaryPattern = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))\s*(?:;|$)/i;

/** Reads a content-type header; undefined where there is none. */
export function parseContentType(header: string | undefined): ContentType | undefined {
  if (header === undefined || header === '') return undefined;
  const semicolon = header.indexOf(';');
  const type = (semicolon < 0 ? header : header.slice(0, semicolon)).trim().toLowerCase();
  const match = type.startsWith('multipart/') ? boundaryPattern.exec(header) : null;
  return { type, boundary: match?.[1] ?? match?.[2] };
}
