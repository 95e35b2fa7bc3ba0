import type { DeviceKind } from '../../contracts/model.js';

/** What the worker thread is started with. */
export interface WorkerSettings {
  readonly kind: Exclude<DeviceKind, 'simulated'>;
  /** Which of several devices; only CUDA tells them apart. */
  readonly index: number;
  /** Threads that one run may use on the CPU. */
  readonly threads: number;
}

/** An input or output as the loaded graph has it; a dimension that is only known when it runs is a name. */
export interface Port {
  readonly name: string;
  readonly type: string;
  readonly dims: readonly (number | string)[];
}

/** What is known of a session once it is open. */
export interface SessionFacts {
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  /** How many of the graph's nodes run on which provider; only looked at where the device is not the CPU. */
  readonly placement: Readonly<Record<string, number>> | undefined;
}

/** A batch's way back. */
export interface RunOutputs {
  /** Values of the whole batch by output name. */
  readonly outputs: Readonly<Record<string, Float32Array<ArrayBuffer>>>;
  /** The input's buffer, handed back for the next run. */
  readonly input: ArrayBuffer;
}

/** What is asked of the worker; buffers are transferred. */
export type WorkerRequest =
  | { readonly type: 'open'; readonly model: Uint8Array<ArrayBuffer> }
  | { readonly type: 'run'; readonly session: number; readonly input: ArrayBuffer; readonly dims: readonly number[] }
  | { readonly type: 'release'; readonly session: number };

export type WorkerAnswer =
  | { readonly type: 'opened'; readonly session: number; readonly facts: SessionFacts }
  | { readonly type: 'ran'; readonly result: RunOutputs }
  | { readonly type: 'released' };

/** Requests are numbered, since answers may come after the next request. */
export interface Numbered<T> {
  readonly id: number;
  readonly content: T;
}

export type WorkerReply = WorkerAnswer | { readonly type: 'refused'; readonly reason: string };
