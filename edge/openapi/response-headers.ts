import * as z from 'zod';
import { taskIdPattern } from '../../contracts/task.js';
import { jsonSchemaOf, type JsonSchema } from './schemas.js';

interface Header {
  /** Where it is not the key under which it stands here. */
  readonly name?: string;
  /** Whether every answer that lists it has it. */
  readonly required: boolean;
  readonly schema: z.ZodType;
  readonly description: string;
}

const text = (pattern: RegExp) => z.string().regex(pattern);
const seconds = z.int().min(1);
const ratePolicies = /^"(burst|day)";q=\d+;w=\d+(, "day";q=\d+;w=\d+)?$/;
const rateLeft = /^"(burst|day)";r=\d+;t=\d+(, "day";r=\d+;t=\d+)?$/;
const location = new RegExp(taskIdPattern.source.replace('^', '^/v1/tasks/'));

const headers = {
  'x-request-id': {
    required: true,
    schema: text(/^[A-Za-z0-9._-]{1,128}$/),
    description: "The caller's own id of the request, or the one that was made for it; logs have it too.",
  },
  traceresponse: {
    required: true,
    schema: text(/^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/),
    description: 'The span of the request on our side (W3C Trace Context).',
  },
  'x-cache': {
    required: true,
    schema: z.enum(['hit', 'miss', 'joined']),
    description:
      '`hit`: the stored bytes of an earlier answer; `miss`: the model was asked; `joined`: equal work was under way already.',
  },
  'server-timing': {
    required: true,
    schema: text(/^\w+;dur=\d+\.\d\d(, \w+;dur=\d+\.\d\d)*$/),
    description: 'Where the time went, in milliseconds.',
  },
  etag: { required: true, schema: text(/^(W\/)?"[^"]+"$/), description: 'Names these bytes; for `If-None-Match`.' },
  'cache-control': {
    required: true,
    schema: text(/^(no-store|no-cache|private, max-age=\d+)$/),
    description:
      'For how long the answer may be kept: a stored answer as long as it is stored here, any other not at all.',
  },
  location: { required: true, schema: text(location), description: 'Where the task is shown.' },
  'preference-applied': {
    required: true,
    schema: text(/^respond-async$/),
    description: 'The preference that was followed.',
  },
  'preference-applied-wait': {
    name: 'preference-applied',
    required: false,
    schema: text(/^wait=\d+$/),
    description: 'The wait that was granted, where one was asked for.',
  },
  'retry-after': { required: true, schema: seconds, description: 'Seconds after which to come back.' },
  'retry-after-until-ended': {
    name: 'retry-after',
    required: false,
    schema: seconds,
    description: 'Seconds after which to look again, while the task has not ended.',
  },
  'ratelimit-policy': {
    required: false,
    schema: text(ratePolicies),
    description: 'Limits of the caller, in pictures: `q` in a window of `w` seconds. Only where there are any.',
  },
  ratelimit: {
    required: false,
    schema: text(rateLeft),
    description: 'What is left of them: `r` pictures, whole again in `t` seconds.',
  },
  'www-authenticate': {
    required: true,
    schema: text(/^Bearer realm="sampan"$/),
    description: 'How to show who one is.',
  },
  allow: { required: true, schema: text(/^[A-Z]+(, [A-Z]+)*$/), description: 'The methods that the path has.' },
  'x-accel-buffering': {
    required: true,
    schema: z.literal('no'),
    description: 'Asks proxies to pass events on at once.',
  },
  'content-security-policy': {
    required: true,
    schema: text(/^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]+';/),
    description: 'Allows the style of the page and nothing else.',
  },
} satisfies Record<string, Header>;

export type HeaderName = keyof typeof headers;

export interface HeaderObject {
  readonly description: string;
  readonly required: boolean;
  readonly schema: JsonSchema;
}

/** The document's `components/headers`. */
export function componentHeaders(): Readonly<Record<string, HeaderObject>> {
  const entries = Object.entries<Header>(headers).map(([key, { description, required, schema }]) => {
    const made: HeaderObject = { description, required, schema: jsonSchemaOf(schema) };
    return [key, made];
  });
  return Object.fromEntries(entries) as Readonly<Record<string, HeaderObject>>;
}

/** References to headers under the names that they are sent by. */
export function headerRefs(keys: readonly HeaderName[]): Readonly<Record<string, { readonly $ref: string }>> {
  return Object.fromEntries(keys.map((key) => [nameOf(key), { $ref: `#/components/headers/${key}` }]));
}

function nameOf(key: HeaderName): string {
  const header: Header = headers[key];
  return header.name ?? key;
}
