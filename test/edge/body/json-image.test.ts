import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { test } from 'node:test';
import { Failure } from '../../../contracts/failure.js';
import { imageFromJson } from '../../../edge/body/json-image.js';

const read = (text: string) => {
  try {
    const { image, given } = imageFromJson(Buffer.from(text));
    return [image.toString(), Object.fromEntries(given)];
  } catch (error) {
    if (error instanceof Failure) return error.code;
    throw error;
  }
};
const base64 = (text: string) => Buffer.from(text).toString('base64');

test('an image is found wherever it stands in its JSON, however that is written', () => {
  const [one, other] = [base64('one'), base64('other')];
  const params = { top: 2 };
  for (const text of [
    `{"image":"${one}"}`,
    ` {\n "image" :\t"${one}" } `,
    `{"image":"\\u0062${one.slice(1)}"}`,
    // The last of two counts, as JSON.parse has it.
    `{"image":"${other}","image":"${one}"}`,
  ]) {
    assert.deepEqual(read(text), ['one', {}], text);
  }
  assert.deepEqual(read(`{"image":"${one}","image":""}`), ['', {}]);
  assert.equal(one[0], 'b');
  assert.deepEqual(read(`{"image":"${one}","params":${JSON.stringify(params)}}`), ['one', params]);
  assert.deepEqual(read(`{"params":${JSON.stringify(params)},"image":"${one}"}`), ['one', params]);
  assert.deepEqual(read(`{"params":{"image":"${other}"},"image":"${one}"}`), ['one', { image: other }]);
});

test('what is no such JSON is told by its code', () => {
  const image = base64('one');
  const cases: Record<string, string> = {
    '': 'image_missing',
    '{}': 'image_missing',
    '{"image"': 'invalid_json',
    [`{"image":"${image}`]: 'invalid_json',
    [`{"image":"${image}"`]: 'invalid_json',
    [`{"image":"${image}"}}`]: 'invalid_json',
    [`{"image":"${image}","modell":1}`]: 'invalid_json',
    [`{"image":"${image}","params":[]}`]: 'invalid_json',
    '{"image":7}': 'invalid_json',
    '{"image":"?"}': 'invalid_base64',
    [`{"image":"${image}","image":"?"}`]: 'invalid_base64',
    '{"image":"AAA"}': 'invalid_base64',
  };
  for (const [text, code] of Object.entries(cases)) assert.equal(read(text), code, text);
  assert.deepEqual(read('{"image":""}'), ['', {}]);
});
