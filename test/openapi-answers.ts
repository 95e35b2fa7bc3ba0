import assert from 'node:assert/strict';
import { Ajv2020, type AnySchemaObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { ApiDocument } from '../edge/openapi/document.js';
import type { MediaTypeObject, ResponseObject } from '../edge/openapi/operation-object.js';

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Holds answers against a document. */
export interface AnswerBook {
  /** @throws AssertionError where an answer has a status, a type, a header or a member that the document does not */
  check(method: string, path: string, answer: HttpAnswer): void;
  /** Answers that the document promises, and codes, that have not been seen yet; 405 and 404 of no path among them. */
  unseen(): { readonly answers: readonly string[]; readonly codes: readonly string[] };
}

/** Schemas of a document; what they refer to stands in its components. @throws AssertionError with what is wrong */
export type CheckSchema = (schema: unknown, value: unknown, what: string) => void;

export function schemaChecker({ components }: ApiDocument): CheckSchema {
  const ajv = new Ajv2020({ allErrors: true });
  addFormats.default(ajv);
  ajv.addVocabulary(['components']);
  const compiled = new Map<unknown, ValidateFunction>();
  return (schema, value, what) => {
    const validate = compiled.get(schema) ?? ajv.compile({ ...(schema as AnySchemaObject), components });
    compiled.set(schema, validate);
    assert.ok(validate(value), `${what}: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(value)}`);
  };
}

export function answerBook(document: ApiDocument): AnswerBook {
  const checkSchema = schemaChecker(document);
  const seen = new Set<string>();
  return {
    check: (method, path, answer) => {
      const { name, responses } = expectedOf(document, method, path);
      const what = `${name} ${String(answer.status)}`;
      const response = responses[String(answer.status)];
      assert.ok(response, `${what} is not documented: ${answer.text.slice(0, 500)}`);
      checkHeaders(document, checkSchema, response, answer, what);
      if (method === 'HEAD') {
        assert.equal(answer.text, '', `${what}: HEAD has no body`);
        return;
      }
      checkBody(checkSchema, response, answer, what);
      seen.add(isProblem(response) ? String(JSON.parse(answer.text).code) : what);
    },
    unseen: () => ({
      answers: answersIn(document).filter((what) => !seen.has(what)),
      codes: codesIn(document).filter((code) => !seen.has(code)),
    }),
  };
}

interface Expected {
  readonly name: string;
  readonly responses: Readonly<Record<string, ResponseObject | undefined>>;
}

/** What may be answered to a method of a path, whether the document has them or not. */
function expectedOf({ paths, components }: ApiDocument, method: string, path: string): Expected {
  const { pathname } = new URL(path, 'http://edge');
  const found = Object.keys(paths).find((template) => patternOf(template).test(pathname));
  if (found === undefined) return { name: pathname, responses: { '404': components.responses['route_not_found'] } };
  const wanted = method === 'HEAD' ? 'get' : method.toLowerCase();
  const operation = paths[found]?.[wanted];
  if (operation) return { name: `${wanted} ${found}`, responses: operation.responses };
  return { name: `${wanted} ${found}`, responses: { '405': components.responses['method_not_allowed'] } };
}

function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`);
}

function checkHeaders(
  { components }: ApiDocument,
  checkSchema: CheckSchema,
  response: ResponseObject,
  { headers }: HttpAnswer,
  what: string,
): void {
  for (const [name, { $ref }] of Object.entries(response.headers)) {
    const header = components.headers[$ref.slice('#/components/headers/'.length)];
    assert.ok(header, $ref);
    const value = headers.get(name);
    if (value === null) assert.ok(!header.required, `${what}: the header ${name} is missing`);
    else checkSchema(header.schema, header.schema['type'] === 'integer' ? Number(value) : value, `${what}, ${name}`);
  }
}

function checkBody(checkSchema: CheckSchema, { content }: ResponseObject, answer: HttpAnswer, what: string): void {
  const type = answer.headers.get('content-type')?.split(';')[0] ?? '';
  if (!content) {
    assert.deepEqual([type, answer.text], ['', ''], `${what}: there should be no body`);
    return;
  }
  const media = content[type];
  assert.ok(media, `${what}: the content type "${type}" is not documented`);
  checkSchema(media.schema, valueOf(type, answer.text), what);
  checkItems(checkSchema, media, type, answer.text, what);
}

function valueOf(type: string, text: string): unknown {
  return type.endsWith('json') && !type.endsWith('ndjson') ? JSON.parse(text) : text;
}

/** Of text that is read piece by piece: each piece. */
export function checkItems(
  checkSchema: CheckSchema,
  { 'x-itemSchema': item }: MediaTypeObject,
  type: string,
  text: string,
  what: string,
): void {
  if (!item) return;
  const lines = text.split('\n').filter((line) => line !== '');
  const pieces = type === 'text/event-stream' ? lines.flatMap((line) => /^data: (.*)$/.exec(line)?.[1] ?? []) : lines;
  assert.ok(pieces.length > 0, `${what}: there is not one piece`);
  for (const piece of pieces) checkSchema(item, JSON.parse(piece), what);
}

function isProblem({ content = {} }: ResponseObject): boolean {
  return 'application/problem+json' in content;
}

/** Every answer that is no problem, such as "get /v1/models 200". */
function answersIn({ paths }: ApiDocument): string[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { responses }]) =>
      Object.entries(responses)
        .filter(([, response]) => !isProblem(response))
        .map(([status]) => `${method} ${path} ${status}`),
    ),
  );
}

/** Every code that some operation, or every path, may answer with. */
export function codesIn({ paths, components }: ApiDocument): string[] {
  const ofPaths = Object.values(paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ responses }) => Object.values(responses)),
  );
  const responses = [...ofPaths, ...Object.values(components.responses)];
  const codes = responses.flatMap(({ content }) => Object.keys(content?.['application/problem+json']?.examples ?? {}));
  return [...new Set(codes)];
}
