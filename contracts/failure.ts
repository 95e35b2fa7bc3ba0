/** The closed table of everything that can go wrong, with the stable codes that clients and dashboards rely on. */
interface FailureEntry {
  /** HTTP status the code is answered with. */
  readonly status: number;
  /** Whether the same request may succeed when it is sent again later. */
  readonly retryable: boolean;
  /** One sentence for people; a failure's `detail` says what was special about this case. */
  readonly message: string;
}

export const failures = {
  malformed_request: { status: 400, retryable: false, message: 'What was sent is no well-formed HTTP request.' },
  invalid_params: {
    status: 400,
    retryable: false,
    message: 'A parameter is unknown or has a value that is not allowed.',
  },
  invalid_header: { status: 400, retryable: false, message: 'A request header has a value that is not allowed.' },
  invalid_multipart: { status: 400, retryable: false, message: 'The multipart body is malformed.' },
  invalid_json: { status: 400, retryable: false, message: 'The JSON body is malformed.' },
  invalid_base64: { status: 400, retryable: false, message: 'The image is not plain base64.' },
  invalid_digest: { status: 400, retryable: false, message: 'A digest must be written as lower-case hexadecimal.' },
  image_missing: { status: 400, retryable: false, message: 'The request carries no image.' },
  sha256_required: {
    status: 400,
    retryable: false,
    message: 'This lookup needs the SHA-256 of the image beside its MD5.',
  },
  body_incomplete: { status: 400, retryable: true, message: 'The request body ended before it was complete.' },
  credentials_missing: { status: 401, retryable: false, message: 'The request carries neither a key nor a token.' },
  credentials_invalid: { status: 401, retryable: false, message: 'The key or token is not valid.' },
  credentials_expired: { status: 401, retryable: false, message: 'The key or token has expired.' },
  permission_missing: { status: 403, retryable: false, message: 'The credentials do not allow this.' },
  model_not_allowed: { status: 403, retryable: false, message: 'The credentials do not allow this model.' },
  route_not_found: { status: 404, retryable: false, message: 'There is nothing at this path.' },
  model_not_found: { status: 404, retryable: false, message: 'The model is not in the catalogue.' },
  result_not_found: { status: 404, retryable: false, message: 'No answer is kept for this image.' },
  task_not_found: { status: 404, retryable: false, message: 'There is no task of this id, or no longer.' },
  trace_not_found: { status: 404, retryable: false, message: 'No trace is kept by this id.' },
  method_not_allowed: { status: 405, retryable: false, message: 'The path exists, but not with this method.' },
  request_timeout: { status: 408, retryable: true, message: 'The request was not complete in time.' },
  body_too_large: { status: 413, retryable: false, message: 'The request body is larger than allowed.' },
  unsupported_content_type: {
    status: 415,
    retryable: false,
    message: 'The content type of the body is not one that is read here.',
  },
  unsupported_image: {
    status: 415,
    retryable: false,
    message: 'The bytes are not an image of a type that is read here.',
  },
  idempotency_mismatch: {
    status: 422,
    retryable: false,
    message: 'The Idempotency-Key was used for another request.',
  },
  image_unreadable: { status: 422, retryable: false, message: 'The image is damaged or cannot be decoded.' },
  image_too_large: { status: 422, retryable: false, message: 'The image has more pixels than allowed.' },
  rate_limited: { status: 429, retryable: true, message: 'More pictures came than the rate allows.' },
  quota_exhausted: { status: 429, retryable: true, message: 'The pictures of this day are used up.' },
  too_many_at_once: { status: 429, retryable: true, message: 'Too many requests of these credentials are under way.' },
  headers_too_large: {
    status: 431,
    retryable: false,
    message: 'The request line and headers are larger than allowed.',
  },
  inference_failed: { status: 500, retryable: true, message: 'The model failed on this image.' },
  task_unreadable: {
    status: 500,
    retryable: true,
    message: 'The task was written in a form that its reader does not know.',
  },
  task_dead: {
    status: 500,
    retryable: false,
    message: 'Every run of this image ended its process; it was given up.',
  },
  internal: { status: 500, retryable: true, message: 'Something unforeseen went wrong on our side.' },
  no_live_consumer: { status: 503, retryable: true, message: 'No live consumer serves this model at the moment.' },
  edge_stopping: { status: 503, retryable: true, message: 'This edge is stopping; others go on.' },
  model_version_gone: {
    status: 503,
    retryable: true,
    message: 'The consumer that took the task no longer holds this model version.',
  },
  overloaded: { status: 503, retryable: true, message: 'There is more work than can be done in time.' },
  stream_unavailable: { status: 503, retryable: true, message: 'The stream cannot be reached or is out of memory.' },
  tokens_unverifiable: {
    status: 503,
    retryable: true,
    message: 'The keys that tokens are verified with cannot be fetched.',
  },
  traces_unavailable: { status: 503, retryable: true, message: 'The traces that are kept cannot be read now.' },
  task_lost: { status: 503, retryable: true, message: 'The task was lost before it had a result.' },
  deadline_exceeded: { status: 504, retryable: true, message: 'The deadline passed before there was a result.' },
} as const satisfies Record<string, FailureEntry>;

export type FailureCode = keyof typeof failures;

/** Says whether a string from outside is one of the table's codes. */
export function isFailureCode(code: unknown): code is FailureCode {
  return typeof code === 'string' && Object.hasOwn(failures, code);
}

export interface FailureOptions {
  readonly cause?: unknown;
  readonly retryAfter?: number;
  readonly retryAfterMs?: number;
  readonly fields?: Readonly<Record<string, string>>;
}

/** A coded failure as an error: thrown where a function cannot go on, turned into an answer at the edge. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly code: FailureCode;
  /** What was special about this case, for people: what was wrong and what is allowed. */
  readonly detail: string;
  /** Seconds after which to come back, where that is known. */
  readonly retryAfter: number | undefined;
  /** The same in milliseconds, where it is known as exactly as that. */
  readonly retryAfterMs: number | undefined;
  /** Header fields that an answer tells it with. */
  readonly fields: Readonly<Record<string, string>> | undefined;

  constructor(code: FailureCode, detail: string, options: FailureOptions = {}) {
    super(`${code}: ${detail}`, { cause: options.cause });
    this.code = code;
    this.detail = detail;
    this.retryAfter = options.retryAfter;
    this.retryAfterMs = options.retryAfterMs;
    this.fields = options.fields;
  }
}
