import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAccessLog, type AccessRecord } from '../../edge/access-log.js';

const record: AccessRecord = {
  ...{ requestId: '1', traceId: '2', tenant: 'a', clientAddress: '::1', method: 'GET', endpoint: '/healthz' },
  ...{ model: undefined, bytes: undefined, pixels: undefined, cache: 'none', status: 200, code: undefined, ms: 1 },
};

function collecting() {
  const written: object[] = [];
  const deferred: (() => void)[] = [];
  return {
    written,
    deferred,
    log: createAccessLog(
      (one) => written.push(one),
      (flush) => deferred.push(flush),
    ),
  };
}

test('records are written later, together, in order, and once', () => {
  const { written, deferred, log } = collecting();
  log.log(record);
  log.log({ ...record, requestId: '2' });
  assert.equal(written.length, 0);
  assert.equal(deferred.length, 1);
  deferred[0]?.();
  assert.deepEqual(written, [record, { ...record, requestId: '2' }]);
  log.flush();
  assert.equal(written.length, 2);
  log.log(record);
  assert.equal(deferred.length, 2);
});

test('a log that falls far behind writes at once', () => {
  const { written, log } = collecting();
  for (let count = 0; count < 10_000; count += 1) log.log(record);
  assert.equal(written.length, 10_000);
});
