import { failures, type FailureCode } from '../../contracts/failure.js';
import type { ProblemBody } from '../problem.js';
import { problemExample } from './examples.js';
import { everywhere, type Operation } from './operation.js';
import { operationObject, problemResponse, type OperationObject, type ResponseObject } from './operation-object.js';
import { operations } from './operations/operations.js';
import { componentParameters, type ParameterObject } from './parameters.js';
import { failureCodes } from './problem-schemas.js';
import { componentHeaders, type HeaderObject } from './response-headers.js';
import { componentSchemas, type JsonSchema } from './schemas.js';
import { openApiVersion } from './service-schemas.js';

/** The parts of an OpenAPI document that we write. */
export interface ApiDocument {
  readonly openapi: string;
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly description: string;
    readonly license: object;
  };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly parameters: Readonly<Record<string, ParameterObject>>;
    readonly headers: Readonly<Record<string, HeaderObject>>;
    readonly responses: Readonly<Record<string, ResponseObject>>;
    readonly examples: Readonly<Record<string, { readonly summary: string; readonly value: ProblemBody }>>;
    readonly securitySchemes: Readonly<Record<string, object>>;
  };
}

/** Paragraphs. */
const description = [
  'Asks image models (moderation, tagging, detection) about pictures.',
  'What goes wrong is answered as `application/problem+json` (RFC 9457). `code` is stable, and `retryable` says whether the same request may succeed later; `detail` is for people. 429 and 503 say in `Retry-After` when to come back.',
  'Every path answers 405 `method_not_allowed`, with `Allow`, to a method that it does not have, and what is no path is answered 404 `route_not_found`. HEAD works wherever GET does, and answers without the body; OPTIONS tells what a path has. What cannot be read as a request of HTTP is answered 400 `malformed_request`, 431 `headers_too_large` or 408 `request_timeout`, without ids, and its connection closes.',
  'Where the operator asks for them, a key or a token is sent as `Authorization: Bearer …`, or a key as `x-api-key`. Models, limits and tasks are those of its holder.',
].join('\n\n');

const tags = [
  { name: 'Pictures', description: 'Ask models about pictures.' },
  { name: 'Tasks', description: 'Come back for the answer.' },
  { name: 'Models', description: 'What can be asked.' },
  { name: 'Service', description: 'For those who run it, and for readers.' },
] as const satisfies readonly { readonly name: Operation['tag']; readonly description: string }[];

/** The document that describes the edge; it takes a moment to make, and is always the same. */
export function createDocument(): ApiDocument {
  return {
    openapi: openApiVersion,
    info: { title: 'Sampan', version: '1', description, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: '/' }],
    tags,
    paths: paths(),
    components: {
      schemas: componentSchemas(),
      parameters: componentParameters(),
      headers: componentHeaders(),
      responses: Object.fromEntries(everywhere.map((code) => [code, problemResponse([code], [])])),
      examples: Object.fromEntries(failureCodes.map((code) => [code, exampleOf(code)])),
      securitySchemes,
    },
  };
}

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'A key, or a token (JWT) where tokens are taken.' },
  key: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'A key.' },
} as const;

function paths(): ApiDocument['paths'] {
  const made: Record<string, Record<string, OperationObject>> = {};
  for (const operation of operations) (made[operation.path] ??= {})[operation.method] = operationObject(operation);
  return made;
}

function exampleOf(code: FailureCode) {
  return { summary: failures[code].message, value: problemExample(code) };
}
