import type { Lane } from './task.js';

/** The one consumer group of every task stream. */
export const consumerGroup = 'consumers';

/** Catalogue: a hash of `<model>` → active version, `<model>@<version>` → manifest, `@revision` → count of changes. */
export const catalogueKey = 'sampan:models';

/** API keys: a hash of id → what is stored of the key. */
export const apiKeysKey = 'sampan:keys';

/** What an account has spent, and its requests under way; one slot. */
export function spendKeys(account: string): { readonly account: string; readonly underWay: string } {
  const base = `sampan:{spend:${account}}`;
  return { account: base, underWay: `${base}:under-way` };
}

/** What tenants used on a day (YYYY-MM-DD, UTC): a hash of `<tenant> <what>` → count. */
export function usageKey(day: string): string {
  return `sampan:usage:${day}`;
}

/** Names of live consumers, scored by the time of their last heartbeat in milliseconds of Redis's clock. */
export const registerIndexKey = 'sampan:consumers';

/** One consumer's own account of itself; expires when its heartbeat stops. */
export function registerKey(consumer: string): string {
  return `sampan:consumer:${consumer}`;
}

/** A cached answer; `work` is the work key. */
export function cacheKey(work: string): string {
  return `sampan:cache:${work}`;
}

/** Kept traces, in the cache role; what each holds stands in scripts/keep-spans.lua. */
export const traceKeys = {
  recent: 'sampan:traces',
  slow: 'sampan:traces:slow',
  failed: 'sampan:traces:failed',
  until: 'sampan:traces:until',
  about: 'sampan:traces:about',
  names: 'sampan:traces:names',
} as const;

/** A hash of a trace's spans: span id → JSON. */
export function traceKey(traceId: string): string {
  return `sampan:trace:${traceId}`;
}

/** Sharded channel on which one edge is told that results are there. */
export function replyChannel(edge: string): string {
  return `sampan:{edge:${edge}}:replies`;
}

/** All keys of one model's partition; they share a hash tag, so a script's keys lie in one slot. */
export interface PartitionKeys {
  /** Stream of entries. */
  tasks(lane: Lane): string;
  /** Hash of a task: ledger, deadline, edges, waiters, solo starts. */
  task(id: string): string;
  /** String, the encoded bytes. */
  image(id: string): string;
  /** Hash of work in flight: work key → task id. */
  readonly work: string;
  /** Hash of admitted count and bytes, in all and per tenant, and of the last turn that was given to somebody shed. */
  readonly load: string;
  /** Stream of dead letters. */
  readonly dead: string;
  /** String, the stored result. */
  result(id: string): string;
  /** Hash of a request whose caller comes back for the result: tenant, task, deadline. */
  submission(id: string): string;
  /** String of a tenant's Idempotency-Key (its digest): submission id and what was asked. */
  idempotency(tenant: string, digest: string): string;
}

/** The keys of one model's partition. */
export function partitionKeys(model: string, partition = 0): PartitionKeys {
  const base = `sampan:{${model}:${partition}}:`;
  return {
    tasks: (lane) => `${base}tasks:${lane}`,
    task: (id) => `${base}task:${id}`,
    image: (id) => `${base}image:${id}`,
    work: `${base}work`,
    load: `${base}load`,
    dead: `${base}dead`,
    result: (id) => `${base}result:${id}`,
    submission: (id) => `${base}submission:${id}`,
    idempotency: (tenant, digest) => `${base}idempotency:${tenant}:${digest}`,
  };
}
