import type { Buffer } from 'node:buffer';
import type { Lane, TaskSpec } from '../contracts/task.js';
import type { Lease } from './lease.js';
import type { DecodedImage, Model } from './model/model.js';
import type { TaskTrace } from './telemetry.js';

/** An entry that was delivered to this consumer; it is held, under a lease, until its task leaves. */
export interface Delivery {
  readonly stream: string;
  readonly lane: Lane;
  readonly entryId: string;
  readonly lease: Lease;
  /** Taken over from a consumer that fell silent: it runs alone. */
  readonly claimed: boolean;
  readonly model: Model;
  readonly taskId: string;
  /** Length of the encoded image. */
  readonly bytes: number;
  readonly traceparent: string;
  /** Milliseconds from enqueueing to delivery, by Redis's clock. */
  readonly queueMs: number;
}

/** A delivery whose entry could be read. */
export interface Task {
  readonly delivery: Delivery;
  readonly spec: TaskSpec;
  /** Milliseconds of Redis's clock, as it was at admission; joins may have moved it since. */
  readonly deadline: number;
  readonly trace: TaskTrace;
}

export interface Fetched extends Task {
  readonly image: Buffer;
}

/** A task whose pixels are ready for the device. */
export interface Ready extends Task {
  readonly decoded: DecodedImage;
  readonly decodeMs: number;
  /** Milliseconds, monotonic. */
  readonly readyAt: number;
}
