import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeEntry, encodeEntry, taskIdIn } from '../../contracts/entry.js';
import { newTaskId } from '../../contracts/task.js';
import { seededRandom } from '../random.js';
import { specOf } from '../tasks.js';

const id = newTaskId('toy');
const spec = specOf();
const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const entry = { taskId: id, spec, timeLeftMs: 12_345, traceparent: trace };
const text = encodeEntry(entry);
const whole: Readonly<Record<string, unknown>> = JSON.parse(text);

const fieldsOf = (task: unknown) => ['task', JSON.stringify(task)];

function refusal(fields: readonly string[]): string {
  const decoded = decodeEntry(fields);
  assert.ok(!decoded.ok, `read as an entry: ${JSON.stringify(fields)}`);
  assert.equal(decoded.failure.code, 'task_unreadable');
  return decoded.failure.detail;
}

test('an entry is read as it was written', () => {
  assert.deepEqual(decodeEntry(['task', text]), { ok: true, value: entry });
});

test('a request without a trace travels too', () => {
  assert.equal(decodeEntry(fieldsOf({ ...whole, trace: '' })).ok, true);
});

for (const name of Object.keys(whole)) {
  test(`an entry without its ${name} is refused, naming it`, () => {
    assert.match(refusal(fieldsOf({ ...whole, [name]: undefined })), new RegExp(`^${name}`));
  });
}

test('what is not known is refused by name, however long the name', () => {
  assert.match(refusal(fieldsOf({ ...whole, colour: 'red' })), /colour/);
  assert.match(refusal(['task', text, 'colour', 'red']), /unknown field "colour"/);
  assert.match(refusal(['task', text, 'task', text]), /more than one/);
  assert.match(refusal([]), /missing field "task"/);
  for (const name of ['__proto__', 'constructor', 'TASK', ' task', '']) refusal([name, text]);
  assert.ok(refusal(['x'.repeat(1e6), text]).length <= 200);
  assert.ok(refusal(fieldsOf({ ...whole, ['x'.repeat(1e6)]: 1 })).length <= 200);
});

test('any other format is refused', () => {
  for (const v of [0, 2, '', '1', 1.5, null]) assert.match(refusal(fieldsOf({ ...whole, v })), /^v/);
});

test('a time left that is no count of milliseconds is refused', () => {
  for (const timeLeftMs of ['', '5', -1, 1.5, null, 1e300]) {
    assert.match(refusal(fieldsOf({ ...whole, timeLeftMs })), /^timeLeftMs/, JSON.stringify(timeLeftMs));
  }
});

test('a spec that lacks something, or holds something unknown, or is of another version, is refused', () => {
  const stored = Object(whole['spec']);
  for (const name of Object.keys(stored)) {
    assert.match(refusal(fieldsOf({ ...whole, spec: { ...stored, [name]: undefined } })), new RegExp(`^spec.${name}`));
  }
  const changes = [
    ...[{ v: 2 }, { colour: 1 }, { bytes: 0 }, { bytes: '8' }, { params: { top: '5' } }, { lane: 'fast' }],
    ...[
      { md5: spec.md5.toUpperCase() },
      { sha256: spec.md5 },
      { sha256: spec.sha256 },
      { tenant: 'a b' },
      { model: 'A' },
      { scope: '' },
    ],
  ];
  for (const change of changes) refusal(fieldsOf({ ...whole, spec: { ...stored, ...change } }));
});

test('an entry cut short anywhere, and JSON of any other form, is refused, never thrown', () => {
  for (let length = 0; length < text.length; length++) refusal(['task', text.slice(0, length)]);
  for (const other of ['', 'null', '[]', '7', '"x"', '{}', '['.repeat(100_000)]) refusal(['task', other]);
  refusal(['task']);
});

test('garbage of every length is refused, never thrown', () => {
  const random = seededRandom(2);
  for (let length = 0; length < 300; length++) {
    refusal(Array.from({ length: length % 17 }, () => random.bytes(length).toString('latin1')));
    const name = random.pick(Object.keys(whole).filter((key) => key !== 'trace'));
    refusal(fieldsOf({ ...whole, [name]: random.bytes(length).toString('latin1') }));
  }
});

test('the task id of an unreadable entry is found, so that its waiters can be told', () => {
  assert.equal(taskIdIn(['new', 'thing', ...fieldsOf({ v: 9, id, more: [] })]), id);
  for (const fields of [
    [],
    ['task'],
    ['task', 'nonsense'],
    ['task', '{"id":7}'],
    ['task', '{"id":"x"}'],
    ['x', text],
  ]) {
    assert.equal(taskIdIn(fields), undefined, JSON.stringify(fields));
  }
});
