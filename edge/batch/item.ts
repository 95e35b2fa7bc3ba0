import type { Buffer } from 'node:buffer';
import { failures, type Failure } from '../../contracts/failure.js';
import { problemOf } from '../problem.js';

/** What became of one picture. */
export interface Outcome {
  /** As a request with this picture alone would have been answered. */
  readonly answer: Buffer;
  readonly cache: 'hit' | 'miss' | 'joined';
}

/** One picture's part of the answer, as JSON. */
export interface Item {
  /** From 0, in the order of the pictures. */
  readonly index: number;
  readonly text: string;
}

/** @param name of the picture's file */
export function answeredItem(index: number, name: string | undefined, { answer }: Outcome): Item {
  return { index, text: `${headOf(index, name, 200)},"answer":${answer.toString('utf8')}}` };
}

export function failedItem(index: number, name: string | undefined, failure: Failure): Item {
  const { status } = failures[failure.code];
  return { index, text: `${headOf(index, name, status)},"problem":${JSON.stringify(problemOf(failure))}}` };
}

const longestName = 255;

function headOf(index: number, name: string | undefined, status: number): string {
  return JSON.stringify({ index, name: name?.slice(0, longestName), status }).slice(0, -1);
}
