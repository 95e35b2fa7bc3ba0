import type { Buffer } from 'node:buffer';
import { answerBytes } from '../contracts/answer.js';
import { Failure } from '../contracts/failure.js';
import type { ModelManifest } from '../contracts/model.js';
import { numbersOf, type Params } from '../contracts/params.js';
import type { Timing } from '../contracts/result.js';
import { taskFormat, type TaskSpec } from '../contracts/task.js';
import type { Principal } from './access/principal.js';
import type { Crossed } from './crossing.js';
import type { Digests } from './digest.js';

/** What a model is asked about one picture. */
export function specOf(
  { scope, tenant, tier }: Principal,
  { name: model, version }: ModelManifest,
  params: Params,
  { md5, sha256 }: Digests,
  bytes: number,
): TaskSpec {
  const numbers = numbersOf(params);
  return { v: taskFormat, model, version, md5, sha256, params: numbers, scope, tenant, tier, lane: 'normal', bytes };
}

/** The answer that a picture's crossing came to. @throws Failure of the result's code */
export function crossedAnswer(
  { name: model, task }: ModelManifest,
  { id, cache, result }: Crossed,
): { readonly answer: Buffer; readonly timing: Timing } {
  if (result.outcome === 'failed') throw new Failure(result.code, result.detail);
  const { version, predictions, timing } = result;
  return { answer: answerBytes({ id, model, version, task, cache, predictions, timing }), timing };
}
