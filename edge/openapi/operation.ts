import type { FailureCode } from '../../contracts/failure.js';
import type { ParameterName } from './parameters.js';
import type { HeaderName } from './response-headers.js';
import type { SchemaName } from './schemas.js';

/** A body in one form, of a request or of an answer. */
export interface Content {
  readonly type: string;
  /** Left out where the body is the bytes of a picture. */
  readonly schema?: SchemaName;
  /** Of text that is read piece by piece: what each piece is. */
  readonly item?: SchemaName;
  /** Examples by their names. */
  readonly examples?: Readonly<Record<string, unknown>>;
}

/** An answer that is no problem. */
export interface Answered {
  readonly status: number;
  readonly description: string;
  /** Beside those that every answer has. */
  readonly headers?: readonly HeaderName[];
  readonly content: readonly Content[];
}

/** A line to copy; `$BASE` stands for the address of the edge. */
export interface CurlExample {
  readonly label: string;
  readonly source: string;
}

/** One method of one path: all that the document says of it. */
export interface Operation {
  readonly method: 'get' | 'post' | 'delete';
  readonly path: string;
  readonly id: string;
  readonly tag: 'Pictures' | 'Tasks' | 'Models' | 'Service';
  readonly summary: string;
  readonly description: string;
  /** Whether callers show who they are, and whether pictures are counted. */
  readonly access: 'open' | 'identified' | 'paid';
  readonly parameters: readonly ParameterName[];
  readonly body?: readonly Content[];
  readonly answers: readonly Answered[];
  /** Every failure that it can be answered with, but those of every path. */
  readonly codes: readonly FailureCode[];
  readonly curl: readonly CurlExample[];
}

/** Failures that concern every path, whether it exists or not. */
export const everywhere = ['route_not_found', 'method_not_allowed'] as const satisfies readonly FailureCode[];

/** Failures of what never becomes a request: nobody knows an operation of it, and the answer has no ids. */
export const unparsed = [
  'malformed_request',
  'request_timeout',
  'headers_too_large',
] as const satisfies readonly FailureCode[];

/** How the access of callers fails who show who they are. */
export const identifying = [
  'credentials_missing',
  'credentials_invalid',
  'credentials_expired',
  'tokens_unverifiable',
  'stream_unavailable',
] as const satisfies readonly FailureCode[];

/** The same of those who ask a model about pictures, which cost something. */
export const paying = [
  ...identifying,
  'permission_missing',
  'model_not_allowed',
  'rate_limited',
  'quota_exhausted',
  'too_many_at_once',
] as const satisfies readonly FailureCode[];
