import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeEntry, encodeSpec, taskIdIn } from '../../contracts/entry.js';
import { newTaskId } from '../../contracts/task.js';
import { seededRandom } from '../random.js';
import { specOf } from '../tasks.js';

const id = newTaskId('toy');
const spec = specOf();
const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const whole = { v: '1', id, timeLeft: '12345', trace, spec: encodeSpec(spec) };

const fieldsOf = (entry: Record<string, string>) => Object.entries(entry).flat();

function refusal(fields: readonly string[]): string {
  const decoded = decodeEntry(fields);
  assert.ok(!decoded.ok, `read as an entry: ${JSON.stringify(fields)}`);
  assert.equal(decoded.failure.code, 'task_unreadable');
  return decoded.failure.detail;
}

test('an entry is read as it was written, in whatever order its fields come', () => {
  const value = { taskId: id, spec, timeLeftMs: 12_345, traceparent: trace };
  const { shuffled } = seededRandom(1);
  for (let i = 0; i < 50; i++) {
    assert.deepEqual(decodeEntry(shuffled(Object.entries(whole)).flat()), { ok: true, value });
  }
});

test('a request without a trace travels too', () => {
  assert.equal(decodeEntry(fieldsOf({ ...whole, trace: '' })).ok, true);
});

for (const name of Object.keys(whole)) {
  test(`an entry without its field ${name} is refused, naming it`, () => {
    const fields = fieldsOf(Object.fromEntries(Object.entries(whole).filter(([other]) => other !== name)));
    assert.match(refusal(fields), new RegExp(`missing field "${name}"`));
  });

  test(`an entry with two fields ${name} is refused, naming it`, () => {
    assert.match(refusal([...fieldsOf(whole), name, 'second']), new RegExp(`"${name}"`));
  });
}

test('a field that is not known is refused by name, however long the name', () => {
  assert.match(refusal([...fieldsOf(whole), 'colour', 'red']), /unknown field "colour"/);
  for (const name of ['__proto__', 'constructor', 'ID', ' id', '']) refusal([...fieldsOf(whole), name, 'x']);
  assert.ok(refusal([...fieldsOf(whole), 'x'.repeat(1e6), '']).length < 200);
});

test('a name without a value is refused', () => {
  refusal([...fieldsOf(whole), 'trace']);
  refusal(['v']);
});

test('any other format is refused, naming it', () => {
  for (const v of ['0', '2', '', '1.0', '01', ' 1', 'x'.repeat(1000)]) {
    assert.match(refusal(fieldsOf({ ...whole, v })), /format/);
  }
});

test('a time left that is no decimal number is refused', () => {
  for (const timeLeft of ['', ' 1', '1e3', '0x10', '-1', '1.5', 'NaN', 'Infinity', '9'.repeat(20)]) {
    assert.match(refusal(fieldsOf({ ...whole, timeLeft })), /timeLeft/, JSON.stringify(timeLeft));
  }
});

test('a spec that lacks something, or holds something unknown, or is of another version, is refused', () => {
  for (const name of Object.keys(spec)) {
    const rest = Object.fromEntries(Object.entries(spec).filter(([other]) => other !== name));
    assert.match(refusal(fieldsOf({ ...whole, spec: JSON.stringify(rest) })), new RegExp(name));
  }
  const changes = [{ v: 2 }, { colour: 1 }, { bytes: 0 }, { bytes: '8' }, { params: { top: '5' } }, { lane: 'fast' }];
  const more = [
    { md5: spec.md5.toUpperCase() },
    { sha256: spec.md5 },
    { tenant: 'a b' },
    { model: 'A' },
    { scope: '' },
  ];
  for (const change of [...changes, ...more])
    refusal(fieldsOf({ ...whole, spec: JSON.stringify({ ...spec, ...change }) }));
  for (const text of ['', 'null', '[]', '7', '"x"', '{}', '['.repeat(100_000)])
    refusal(fieldsOf({ ...whole, spec: text }));
});

test('an entry cut short anywhere is refused, never thrown', () => {
  const fields = fieldsOf(whole);
  for (let length = 0; length < fields.length; length++) refusal(fields.slice(0, length));
  for (let length = 0; length < whole.spec.length; length++)
    refusal(fieldsOf({ ...whole, spec: whole.spec.slice(0, length) }));
  for (let length = 0; length < id.length; length++) refusal(fieldsOf({ ...whole, id: id.slice(0, length) }));
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
  assert.equal(taskIdIn(['v', '9', 'new', 'thing', 'id', id]), id);
  assert.equal(taskIdIn(['v', 'id', 'id', id]), id);
  for (const fields of [[], ['id'], ['id', 'nonsense'], ['v', 'id'], ['x', id], [id, 'id']]) {
    assert.equal(taskIdIn(fields), undefined, JSON.stringify(fields));
  }
});
