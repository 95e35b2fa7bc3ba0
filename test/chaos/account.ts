import type { Inference } from './journal.js';
import type { Leftovers } from './leftovers.js';
import type { Report } from './load.js';
import type { MemoryCourse } from './memory.js';
import type { RequestRecord } from './record.js';
import { findReruns, type Rerun } from './reruns.js';
import type { Strike } from './schedule.js';
import {
  awayWindows,
  delayedWindows,
  disturbedWindows,
  lossyWindows,
  overlap,
  type PartHistory,
  type Window,
} from './windows.js';

/** All that a run leaves for its judgement. Nothing of it comes from our own counters. */
export interface Evidence {
  readonly records: readonly RequestRecord[];
  /** Undefined where the device keeps no journal. */
  readonly inferences: readonly Inference[] | undefined;
  readonly strikes: readonly Strike[];
  readonly missed: readonly string[];
  readonly edges: readonly PartHistory[];
  readonly backends: readonly PartHistory[];
  readonly leftovers: Leftovers;
  readonly memory: readonly MemoryCourse[];
  readonly clients: Report;
  /** Parts that did not drain cleanly at the end. */
  readonly badEnds: readonly string[];
}

/** How many requests ended in one way, while all was well and while it was not. */
export interface CodeRow {
  readonly what: string;
  readonly calm: number;
  readonly disturbed: number;
}

/** A request that should not have ended as it did, and why that is so. */
export interface Complaint {
  readonly record: RequestRecord;
  readonly what: string;
}

export interface Account {
  readonly evidence: Evidence;
  readonly codes: readonly CodeRow[];
  readonly complaints: readonly Complaint[];
  /** Pictures inferred, runs of pictures, and those that were run more than once. */
  readonly inferred: { readonly pictures: number; readonly runs: number; readonly unfinished: number };
  readonly reruns: readonly Rerun[];
  /** Pictures that a device ran and no client sent. */
  readonly strangers: readonly string[];
}

/** Draws up the account of a run. */
export function drawUp(evidence: Evidence): Account {
  const { records, strikes, edges, backends } = evidence;
  const inferences = evidence.inferences ?? [];
  const disturbed = disturbedWindows(strikes, [...edges, ...backends]);
  const away = edges.map(awayWindows);
  const delayed = edges.map(({ name }) => delayedWindows(strikes, name));
  const lossy = lossyWindows(strikes);
  const sent = new Set(records.map(({ md5 }) => md5));
  return {
    evidence,
    codes: countCodes(records, disturbed),
    complaints: [
      ...records.flatMap((record) =>
        complaintsOf(record, { disturbed, lossy, away: away[record.edge] ?? [], delayed: delayed[record.edge] ?? [] }),
      ),
      ...notInferred(evidence),
    ],
    inferred: {
      pictures: new Set(inferences.map(({ md5 }) => md5)).size,
      runs: inferences.length,
      unfinished: inferences.filter(({ endedAt }) => endedAt === Infinity).length,
    },
    reruns: findReruns(inferences, records, strikes),
    strangers: inferences.filter(({ md5 }) => !sent.has(md5)).map(({ md5 }) => md5),
  };
}

function lifeOf({ sentAt, endedAt }: RequestRecord): Window {
  return { from: sentAt, to: endedAt };
}

function countCodes(records: readonly RequestRecord[], disturbed: readonly Window[]): CodeRow[] {
  const rows = new Map<string, { calm: number; disturbed: number }>();
  for (const record of records) {
    const row = rows.get(nameOf(record)) ?? { calm: 0, disturbed: 0 };
    rows.set(nameOf(record), row);
    if (disturbed.some((window) => overlap(window, lifeOf(record)))) row.disturbed++;
    else row.calm++;
  }
  return [...rows].map(([what, row]) => ({ what, ...row })).sort((a, b) => (a.what < b.what ? -1 : 1));
}

function nameOf({ end, status, code, cache, error }: RequestRecord): string {
  if (end === 'answered') return status === 200 ? `200 ${cache ?? '?'}` : `${String(status)} ${code ?? '?'}`;
  return end === 'broken' ? `broken: ${error ?? '?'}` : end;
}

interface Circumstances {
  readonly disturbed: readonly Window[];
  /** When Redis lost data. */
  readonly lossy: readonly Window[];
  /** When the request's edge was not there. */
  readonly away: readonly Window[];
  /** When its deadline may have been missed for a fault's sake. */
  readonly delayed: readonly Window[];
}

function complaintsOf(record: RequestRecord, circumstances: Circumstances): Complaint[] {
  const edgeGone = circumstances.away.some((window) => overlap(window, lifeOf(record)));
  const found = {
    aborted: () => undefined,
    unanswered: () => (edgeGone ? undefined : 'was not answered'),
    broken: () => (edgeGone ? undefined : 'lost its connection, and its edge lived'),
    answered: () => complaintOfCode(record, circumstances),
  }[record.end]();
  const wrong = record.wrong === undefined ? undefined : `was answered wrongly: ${record.wrong}`;
  return [found, wrong].flatMap((what) => (what === undefined ? [] : [{ record, what }]));
}

function complaintOfCode(record: RequestRecord, { disturbed, lossy, delayed }: Circumstances): string | undefined {
  const { status, code, retryable } = record;
  const during = (windows: readonly Window[]) => windows.some((window) => overlap(window, lifeOf(record)));
  if (status === 200 || code === 'overloaded') return undefined;
  if (code === 'deadline_exceeded') return during(delayed) ? undefined : 'missed its deadline, and nothing delayed it';
  if (code === 'task_not_found')
    return during(lossy) ? undefined : 'was accepted and is not found, and nothing was lost';
  if (!during(disturbed)) return 'had no fault to blame';
  return retryable === true || code === 'task_dead' ? undefined : 'cannot be sent again';
}

/** An answer is a model's word on these very bytes, so a device must have run them to the end. */
function notInferred({ records, inferences }: Evidence): Complaint[] {
  if (!inferences) return [];
  const done = new Set(inferences.filter(({ endedAt }) => endedAt < Infinity).map(({ md5 }) => md5));
  return records
    .filter(({ status, md5 }) => status === 200 && !done.has(md5))
    .map((record) => ({ record, what: 'was answered, and no device had run it' }));
}
