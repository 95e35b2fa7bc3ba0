import { Buffer } from 'node:buffer';
import type { TaskKind } from './model.js';
import type { Timing } from './result.js';

export interface AnswerParts {
  readonly id: string;
  readonly model: string;
  readonly version: string;
  readonly task: TaskKind;
  readonly cache: 'hit' | 'miss' | 'joined';
  /** JSON, put into the answer as it is. */
  readonly predictions: Uint8Array;
  readonly timing: Timing;
}

/** The body of a successful answer, spliced together without parsing the predictions. */
export function answerBytes(parts: AnswerParts): Buffer {
  return Buffer.concat(answerParts(parts));
}

/** The same in the pieces it consists of, for whoever puts more around them. */
export function answerParts(parts: AnswerParts): readonly Uint8Array[] {
  const { id, model, version, task, cache, predictions, timing } = parts;
  const head = JSON.stringify({ id, model, version, task, cache });
  return [
    Buffer.from(`${head.slice(0, -1)},"predictions":`),
    predictions,
    Buffer.from(`,"timing":${JSON.stringify(timing)}}`),
  ];
}
