import { failures, type FailureCode } from '../../contracts/failure.js';
import type { Answered, Content, CurlExample, Operation } from './operation.js';
import { problemName } from './problem-schemas.js';
import { headerRefs, type HeaderName } from './response-headers.js';
import { schemaRef, type JsonSchema } from './schemas.js';

export interface Reference {
  readonly $ref: string;
}

export interface MediaTypeObject {
  readonly schema?: JsonSchema;
  readonly examples?: Readonly<Record<string, { readonly value: unknown } | Reference>>;
  /** Of text that is read piece by piece: what each piece is. */
  readonly 'x-itemSchema'?: Reference;
}

export type ContentObject = Readonly<Record<string, MediaTypeObject>>;

export interface ResponseObject {
  readonly description: string;
  readonly headers: Readonly<Record<string, Reference>>;
  readonly content?: ContentObject;
}

export interface OperationObject {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Reference[];
  readonly requestBody?: { readonly required: true; readonly content: ContentObject };
  readonly responses: Readonly<Record<string, ResponseObject>>;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly 'x-codeSamples': readonly (CurlExample & { readonly lang: 'Shell' })[];
}

/** One operation as OpenAPI has it. */
export function operationObject(operation: Operation): OperationObject {
  const { id, tag, summary, description, parameters, body, access, curl } = operation;
  return {
    operationId: id,
    tags: [tag],
    ...{ summary, description },
    parameters: parameters.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ...(body ? { requestBody: { required: true, content: contentObject(body) } } : {}),
    responses: responses(operation),
    // Whether credentials are asked for is the operator's choice.
    security: access === 'open' ? [] : [{}, { bearer: [] }, { key: [] }],
    'x-codeSamples': curl.map((example) => ({ lang: 'Shell', ...example })),
  };
}

const ofAll = ['x-request-id', 'traceresponse'] as const satisfies readonly HeaderName[];
const ofLimited = ['ratelimit-policy', 'ratelimit'] as const satisfies readonly HeaderName[];

function responses({ access, answers, codes }: Operation): Readonly<Record<string, ResponseObject>> {
  const more = access === 'paid' ? ofLimited : [];
  const good = answers.map((answer): [string, ResponseObject] => [String(answer.status), response(answer, more)]);
  const statuses = [...new Set(codes.map((code) => failures[code].status))];
  const bad = statuses.map((status): [string, ResponseObject] => {
    const those = codes.filter((code) => failures[code].status === status);
    return [String(status), problemResponse(those, more)];
  });
  return Object.fromEntries([...good, ...bad]);
}

function response({ description, headers = [], content }: Answered, more: readonly HeaderName[]): ResponseObject {
  return {
    description,
    headers: headerRefs([...ofAll, ...headers, ...more]),
    ...(content.length > 0 ? { content: contentObject(content) } : {}),
  };
}

/** The answer to failures of one status. */
export function problemResponse(codes: readonly FailureCode[], more: readonly HeaderName[]): ResponseObject {
  const schemas = codes.map((code) => ({ $ref: schemaRef(problemName(code)) }));
  const [first] = schemas;
  const examples = Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]));
  return {
    description: codes.map((code) => `\`${code}\`: ${failures[code].message}`).join('\n'),
    headers: headerRefs([...ofAll, ...codes.slice(0, 1).flatMap(headersOf), ...more]),
    content: {
      'application/problem+json': { schema: first && schemas.length === 1 ? first : { oneOf: schemas }, examples },
    },
  };
}

function headersOf(code: FailureCode): readonly HeaderName[] {
  const { status } = failures[code];
  if (status === 401) return ['www-authenticate'];
  if (status === 405) return ['allow'];
  return status === 429 || status === 503 ? ['retry-after'] : [];
}

function contentObject(contents: readonly Content[]): ContentObject {
  return Object.fromEntries(contents.map((content) => [content.type, mediaTypeObject(content)]));
}

function mediaTypeObject({ schema, item, examples }: Content): MediaTypeObject {
  const named = Object.entries(examples ?? {}).map(([name, value]) => [name, { value }] as const);
  return {
    ...(schema === undefined ? {} : { schema: { $ref: schemaRef(schema) } }),
    ...(item === undefined ? {} : { 'x-itemSchema': { $ref: schemaRef(item) } }),
    ...(named.length === 0 ? {} : { examples: Object.fromEntries(named) }),
  };
}
