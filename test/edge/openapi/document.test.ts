import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { failures } from '../../../contracts/failure.js';
import { createDocument } from '../../../edge/openapi/document.js';
import { unparsed } from '../../../edge/openapi/operation.js';
import type { MediaTypeObject } from '../../../edge/openapi/operation-object.js';
import { checkItems, codesIn, schemaChecker } from '../../openapi-answers.js';

const document = createDocument();
const checkSchema = schemaChecker(document);

/** The document as it travels. */
const copy = () => JSON.parse(JSON.stringify(document));

async function errorsOf(specification: Record<string, unknown>): Promise<unknown> {
  const { valid, errors } = await new Validator().validate(specification);
  return valid ? 'none' : errors;
}

/** Every body that an operation takes or gives, with where it stands. */
const bodies = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, { requestBody, responses }]) =>
    [requestBody, ...Object.values(responses)].flatMap((part) =>
      Object.entries(part?.content ?? {}).map(([type, media]) => ({ where: `${method} ${path} ${type}`, type, media })),
    ),
  ),
);

test('the document is valid OpenAPI 3.1', async () => {
  assert.match(document.openapi, /^3\.1\./);
  assert.equal(await errorsOf(copy()), 'none');
});

test('a field that OpenAPI does not know, or one of another type, makes the document invalid', async () => {
  const wrongs: readonly ((planted: ReturnType<typeof copy>) => void)[] = [
    (planted) => (planted.paths['/v1/models'].get.answers = {}),
    (planted) => (planted.paths['/v1/models'].get.responses['200'].description = 200),
    (planted) => (planted.components.headers.etag.required = 'yes'),
    (planted) => delete planted.info.title,
  ];
  for (const wrong of wrongs) {
    const planted = copy();
    wrong(planted);
    assert.notEqual(await errorsOf(planted), 'none', String(wrong));
  }
});

test('whatever the document refers to is there', () => {
  const refs = JSON.stringify(document).match(/"#\/[^"]*"/g) ?? [];
  assert.ok(refs.length > 100);
  for (const ref of new Set(refs)) {
    const [section = '', name = ''] = ref.slice(3, -1).split('/').slice(1);
    assert.ok(name in copy().components[section], ref);
  }
});

test('every code of the failure table is listed by some operation, or for every path, or told of what is no request', () => {
  assert.deepEqual([...codesIn(document), ...unparsed].sort(), Object.keys(failures).sort());
  for (const code of unparsed) assert.ok(document.info.description.includes(`\`${code}\``));
});

test('every body but the bytes of a picture has an example, and every example is valid', () => {
  assert.ok(bodies.length > 40);
  for (const { where, type, media } of bodies) {
    const examples = examplesOf(media);
    if (media.schema === undefined) assert.ok(type === 'image/*' || type === 'application/octet-stream', where);
    else assert.ok(examples.length > 0, `${where} has no example`);
    for (const example of examples) {
      checkSchema(media.schema, example, where);
      if (typeof example === 'string') checkItems(checkSchema, media, type, example, where);
    }
  }
});

function examplesOf({ examples = {} }: MediaTypeObject): readonly unknown[] {
  return Object.values(examples).map((example) => {
    if ('value' in example) return example.value;
    const shown = document.components.examples[example.$ref.slice('#/components/examples/'.length)];
    assert.ok(shown, example.$ref);
    return shown.value;
  });
}

test('every example of a parameter is valid', () => {
  for (const { name, schema, example } of Object.values(document.components.parameters)) {
    checkSchema(schema, example, name);
  }
});

test('an example with a member too many, too few or of another type is told', () => {
  const { schema } = document.paths['/v1/models']?.['get']?.responses['200']?.content?.['application/json'] ?? {};
  const [model] = Object.values(document.components.examples);
  checkSchema(schema, { models: [] }, 'no models');
  for (const wrong of [{}, { models: [], more: 1 }, { models: {} }, { models: [model] }]) {
    assert.throws(() => checkSchema(schema, wrong, 'wrong'), assert.AssertionError);
  }
});

test('every operation has lines to copy, a name of its own, and the parameters of its path', () => {
  const ids = new Set<string>();
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const operation of Object.values(methods)) {
      ids.add(operation.operationId);
      assert.ok(operation['x-codeSamples'].every(({ source }) => source.includes('"$BASE')));
      const inPath = operation.parameters
        .map(({ $ref }) => document.components.parameters[$ref.split('/').at(-1) ?? '']?.name)
        .filter((name = '') => path.includes(`{${name}}`));
      assert.equal(inPath.length, path.split('{').length - 1, path);
    }
  }
  assert.equal(ids.size, Object.values(document.paths).flatMap((methods) => Object.keys(methods)).length);
});
