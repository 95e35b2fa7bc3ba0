import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawUp, type Evidence } from './account.js';
import type { Inference } from './journal.js';
import type { RequestRecord } from './record.js';
import type { Strike } from './schedule.js';
import { verdictOn } from './verdict.js';

const killed: Strike = {
  ...{ fault: 'consumer killed', excuses: 'struck', delays: 'nobody', disturbs: true, pending: 30 },
  ...{ struckAt: 10_000, endedAt: 10_001, parts: [{ name: 'backend-1', pid: 11 }] },
};

function ended(id: string, md5: string, sentAt: number): Omit<RequestRecord, 'end'> {
  return { id, md5, why: 'unique', edge: 0, sentAt, deadlineMs: 4_000, endedAt: sentAt + 100 };
}

function answered(id: string, md5: string, sentAt: number, changes: Partial<RequestRecord> = {}): RequestRecord {
  const answer = { end: 'answered', status: 200, cache: 'miss', task: `task of ${id}` } as const;
  return { ...ended(id, md5, sentAt), ...answer, ...changes };
}

function failed(id: string, sentAt: number, code: string, retryable = true): RequestRecord {
  return { ...ended(id, id, sentAt), end: 'answered', status: 503, code, retryable };
}

function inferred(md5: string, startedAt: number, changes: Partial<Inference> = {}): Inference {
  return { md5, part: 'backend-0', pid: 10, startedAt, endedAt: startedAt + 50, ...changes };
}

/** A run in which nothing went wrong: one picture answered in calm, one under a fault. */
function goodEvidence(): Evidence {
  return {
    records: [answered('a', 'A', 1_000), answered('b', 'B', 10_100)],
    inferences: [inferred('A', 1_020), inferred('B', 10_120)],
    ...{ strikes: [killed], missed: [], badEnds: [] },
    edges: [{ name: 'edge-0', lives: [{ pid: 1, startedAt: 0, readyAt: 100 }] }],
    backends: [
      {
        name: 'backend-1',
        lives: [
          { pid: 11, startedAt: 0, readyAt: 100, askedAt: 10_000, goneAt: 10_001, how: 'SIGKILL' },
          { pid: 12, startedAt: 10_200, readyAt: 10_500 },
        ],
      },
    ],
    leftovers: { found: [], deadLetters: [] },
    memory: [{ part: 'edge-0', firstHalf: 100, lastQuarter: 109, eighths: [], samples: 60 }],
    clients: { done: 'stop', sent: 2, heldBack: 0, pictures: 2, worstLagMs: 5 },
  };
}

/** The verdict on the good run with something planted in it; every record that is planted was sent. */
function verdict(plant: (good: Evidence) => Partial<Evidence> = () => ({})): string {
  const good = goodEvidence();
  const planted = plant(good);
  const { records } = { ...good, ...planted };
  const clients = { ...good.clients, sent: new Set(records.map(({ id }) => id)).size };
  return verdictOn(drawUp({ ...good, clients, ...planted })).join('\n');
}

const withRecord = (record: RequestRecord) => (good: Evidence) => ({ records: [...good.records, record] });
const withRuns =
  (...runs: Inference[]) =>
  (good: Evidence) => ({ inferences: [...(good.inferences ?? []), ...runs] });

test('a run without fault or blame passes', () => {
  assert.equal(verdict(), '');
});

test('a fault that did not strike, or struck in vain, fails the run', () => {
  assert.match(
    verdict(() => ({ missed: ['FLUSHALL: kept'] })),
    /did not strike: FLUSHALL/,
  );
  assert.match(
    verdict(() => ({ strikes: [{ ...killed, pending: 19 }] })),
    /only 19 entries were pending/,
  );
});

test('a request without an answer fails the run, unless its edge was gone', () => {
  const lost = (edgeLives: Evidence['edges']) => (good: Evidence) => ({
    edges: edgeLives.length > 0 ? edgeLives : good.edges,
    records: [...good.records, { ...ended('c', 'C', 5_000), end: 'unanswered' as const, endedAt: 12_100 }],
  });
  assert.match(verdict(lost([])), /was not answered/);
  const lives = [{ pid: 1, startedAt: 0, readyAt: 100, askedAt: 6_000, goneAt: 6_001, how: 'SIGKILL' }];
  assert.equal(verdict(lost([{ name: 'edge-0', lives }])), '');
});

test('a connection that broke fails the run, unless its edge was gone', () => {
  const broken = { ...ended('c', 'C', 5_000), end: 'broken' as const, error: 'ECONNRESET' };
  assert.match(verdict(withRecord(broken)), /its edge lived/);
});

test('in calm only 200 and overloaded are in order; under faults whatever can be sent again', () => {
  assert.equal(verdict(withRecord(failed('c', 5_000, 'overloaded'))), '');
  assert.match(verdict(withRecord(failed('c', 5_000, 'task_lost'))), /no fault to blame/);
  assert.equal(verdict(withRecord(failed('c', 10_300, 'task_lost'))), '');
  assert.equal(verdict(withRecord(failed('c', 10_300, 'task_dead', false))), '');
  assert.match(verdict(withRecord(failed('c', 10_300, 'model_not_found', false))), /cannot be sent again/);
});

test('a deadline may be missed for the sake of a fault that delays everybody, or struck the very edge', () => {
  const late = withRecord({ ...failed('c', 10_050, 'deadline_exceeded'), status: 504 });
  const under = (changes: Partial<Strike>) => (good: Evidence) => ({
    ...late(good),
    strikes: [{ ...killed, ...changes }],
  });
  assert.match(verdict(under({})), /missed its deadline, and nothing delayed it/);
  assert.equal(verdict(under({ delays: 'everybody' })), '');
  assert.match(verdict(under({ delays: 'struck' })), /missed its deadline/);
  assert.equal(verdict(under({ delays: 'struck', parts: [{ name: 'edge-0', pid: 1 }] })), '');
});

test('a wrong answer, a second one, and one that no device computed fail the run', () => {
  assert.match(verdict(withRecord(answered('c', 'A', 2_000, { wrong: 'label 1 instead of 2' }))), /answered wrongly/);
  assert.match(verdict(withRecord(answered('a', 'A', 1_000))), /1 requests ended twice/);
  assert.match(verdict(withRecord(answered('c', 'C', 2_000))), /no device had run it/);
  assert.match(
    verdict((good) => ({ clients: { ...good.clients, sent: 3 } })),
    /3 were sent, 2 are on record/,
  );
});

test('a second run of a picture fails the run where nothing struck the first one before it was settled', () => {
  const again = /run again without a reason/;
  assert.match(verdict(withRuns(inferred('A', 1_500))), again);
  // The first run ended long before the fault; or another consumer was struck; or the second run came before the fault.
  assert.match(verdict(withRuns(inferred('A', 10_400))), again);
  const onStruck = { part: 'backend-1', pid: 11 };
  const begun = inferred('C', 9_900, onStruck);
  const sent = answered('c', 'C', 9_800);
  const runs =
    (...own: Inference[]) =>
    (good: Evidence) => ({ ...withRecord(sent)(good), ...withRuns(...own)(good) });
  assert.equal(verdict(runs({ ...begun, endedAt: Infinity }, inferred('C', 11_100))), '');
  assert.match(verdict(runs(inferred('C', 9_900), inferred('C', 11_100))), again);
  assert.match(verdict(runs({ ...begun, endedAt: Infinity }, inferred('C', 9_950))), again);
});

test('a picture that was sent again may run again, once for each task that it can have been', () => {
  const other = answered('c', 'A', 2_000, { why: 'repeating' });
  const runs =
    (...own: Inference[]) =>
    (good: Evidence) => ({ ...withRecord(other)(good), ...withRuns(...own)(good) });
  assert.equal(verdict(runs(inferred('A', 2_050))), '');
  assert.match(verdict(runs(inferred('A', 2_050), inferred('A', 2_150))), /1 pictures: were run again/);
  // It joined, so it was the same task.
  const joined = withRecord({ ...other, cache: 'joined', task: 'task of a' });
  assert.match(
    verdict((good) => ({ ...joined(good), ...withRuns(inferred('A', 2_050))(good) })),
    /1 pictures: were run/,
  );
});

test('what nobody sent, what is left over, and what died without a cause fail the run', () => {
  assert.match(verdict(withRuns(inferred('stranger', 3_000))), /1 pictures were run that nobody sent/);
  assert.match(
    verdict(() => ({ leftovers: { found: ['an image'], deadLetters: [] } })),
    /left over: an image/,
  );
  assert.match(
    verdict(() => ({ leftovers: { found: [], deadLetters: ['1-1'] } })),
    /dead letter without a reason/,
  );
});

test('memory that grew by more than a tenth, in a short run by a quarter, fails the run', () => {
  const grown = { part: 'edge-0', firstHalf: 100, lastQuarter: 111, eighths: [], samples: 480 };
  assert.match(
    verdict(() => ({ memory: [grown] })),
    /edge-0 grew from 100 to 111 MiB/,
  );
  const short = { ...grown, samples: 60 };
  assert.equal(
    verdict(() => ({ memory: [short] })),
    '',
  );
  assert.match(
    verdict(() => ({ memory: [{ ...short, lastQuarter: 126 }] })),
    /edge-0 grew from 100 to 126 MiB/,
  );
  assert.match(
    verdict(() => ({ memory: [{ ...grown, lastQuarter: Number.NaN }] })),
    /edge-0 grew/,
  );
});

test('a part that ended by itself or did not drain fails the run', () => {
  const lives = [{ pid: 1, startedAt: 0, readyAt: 100, goneAt: 20_000, how: 'status 3' }];
  assert.match(
    verdict((good) => ({ backends: [...good.backends, { name: 'backend-2', lives }] })),
    /unasked: status 3/,
  );
  assert.match(
    verdict(() => ({ badEnds: ['edge-1: SIGKILL'] })),
    /did not drain: edge-1/,
  );
});

test('an accepted task that is not found is blamed, unless Redis lost data while it was under way', () => {
  const lost = { ...failed('c', 9_950, 'task_not_found', false), status: 404, why: 'later' } as const;
  assert.match(verdict(withRecord(lost)), /is not found, and nothing was lost/);
  const flush: Strike = { ...killed, fault: 'FLUSHALL', loses: true, parts: [] };
  assert.equal(
    verdict((good) => ({ records: [...good.records, lost], strikes: [killed, flush] })),
    '',
  );
  const before = { ...lost, sentAt: 11_000, endedAt: 11_100 };
  assert.match(
    verdict((good) => ({ records: [...good.records, before], strikes: [killed, flush] })),
    /is not found/,
  );
});
