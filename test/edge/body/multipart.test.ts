import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { test } from 'node:test';
import { Failure } from '../../../contracts/failure.js';
import { parseContentType } from '../../../edge/body/content-type.js';
import { parseMultipart } from '../../../edge/body/multipart.js';

async function encode(form: FormData): Promise<{ body: Buffer; boundary: string }> {
  const response = new Response(form);
  const boundary = parseContentType(response.headers.get('content-type') ?? '')?.boundary ?? '';
  return { body: Buffer.from(await response.arrayBuffer()), boundary };
}

function refusal(body: Buffer | string, boundary = 'b'): string {
  try {
    parseMultipart(Buffer.from(body), boundary);
    return 'accepted';
  } catch (error) {
    return error instanceof Failure && error.code === 'invalid_multipart' ? error.detail : `uncoded: ${String(error)}`;
  }
}

const part = (name: string, value: string) =>
  `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;

test('a form as fetch writes it comes back, bytes that look like boundaries included', async () => {
  const bytes = Buffer.from('\r\n--\r\n\r\n--b\r\n--b--\0\xff', 'latin1');
  const form = new FormData();
  form.set('top', '3');
  form.set('image', new Blob([bytes]), 'a "quoted" name.jpg');
  form.set('empty', '');
  const { body, boundary } = await encode(form);
  const parts = parseMultipart(body, boundary);
  assert.deepEqual(
    parts.map(({ name, isFile, data }) => [name, isFile, data.toString('latin1')]),
    [
      ['top', false, '3'],
      ['image', true, bytes.toString('latin1')],
      ['empty', false, ''],
    ],
  );
});

test('the image is a view of the body, not a copy', async () => {
  const form = new FormData();
  form.set('image', new Blob([new Uint8Array(1000)]));
  const { body, boundary } = await encode(form);
  assert.equal(parseMultipart(body, boundary)[0]?.data.buffer, body.buffer);
});

test('a preamble, an epilogue and blanks behind a boundary are passed over', () => {
  const parts = parseMultipart(
    Buffer.from(`for old readers\r\n${part('a', '1').replace('--b', '--b \t')}--b--\r\nend`),
    'b',
  );
  assert.deepEqual(
    parts.map(({ name, data }) => [name, data.toString()]),
    [['a', '1']],
  );
});

test('a form that is cut off anywhere is refused', () => {
  const whole = `${part('a', 'one')}${part('image', 'two')}--b--`;
  assert.equal(refusal(whole), 'accepted');
  for (let length = 0; length < whole.length; length += 1) {
    const said = refusal(whole.slice(0, length));
    assert.notEqual(said, 'accepted', `${length} characters`);
    assert.doesNotMatch(said, /uncoded/);
  }
});

test('a boundary that does not occur is named as the reason', () => {
  assert.match(refusal(`${part('a', '1')}--b--`, 'other'), /boundary of the content-type header does not occur/);
});

test('parts without name, without disposition, or encoded once more are refused', () => {
  assert.match(refusal('--b\r\ncontent-disposition: form-data\r\n\r\n1\r\n--b--'), /no name/);
  assert.match(refusal('--b\r\ncontent-type: text/plain\r\n\r\n1\r\n--b--'), /content-disposition/);
  assert.match(refusal('--b\r\n\r\n1\r\n--b--'), /content-disposition/);
  assert.match(refusal('--b\r\ncontent-disposition: attachment; name="a"\r\n\r\n1\r\n--b--'), /content-disposition/);
  const encoded = part('a', '1').replace('\r\n\r\n', '\r\ncontent-transfer-encoding: base64\r\n\r\n');
  assert.match(refusal(`${encoded}--b--`), /content-transfer-encoding/);
});

test('a filename does not pass for a name', () => {
  assert.match(refusal('--b\r\ncontent-disposition: form-data; filename="name=x"\r\n\r\n1\r\n--b--'), /no name/);
});

test('more parts, and longer heads, than a request needs are refused', () => {
  assert.match(refusal(`${part('a', '1').repeat(33)}--b--`), /more than 32 parts/);
  assert.match(refusal(`--b\r\nx: ${'y'.repeat(9000)}\r\n\r\n1\r\n--b--`), /headers of a part do not end/);
});

test('content types are read with their boundary, quoted or not', () => {
  assert.deepEqual(parseContentType('multipart/form-data; boundary=abc'), {
    type: 'multipart/form-data',
    boundary: 'abc',
  });
  assert.equal(parseContentType('Multipart/Form-Data;charset=x; BOUNDARY="a b"')?.boundary, 'a b');
  assert.equal(parseContentType('multipart/form-data; xboundary=abc')?.boundary, undefined);
  assert.equal(parseContentType(`multipart/form-data; boundary=${'x'.repeat(71)}`)?.boundary, undefined);
  assert.equal(parseContentType(undefined), undefined);
});
