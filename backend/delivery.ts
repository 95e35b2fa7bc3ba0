import type { Buffer } from 'node:buffer';
import type { Failure } from '../contracts/failure.js';
import type { Lane, TaskSpec } from '../contracts/task.js';
import type { DecodedImage, Model } from './model/model.js';
import type { TaskTrace } from './telemetry.js';

/** An entry that was delivered to this consumer; it is held until its task leaves. */
export interface Delivery {
  readonly stream: string;
  readonly lane: Lane;
  readonly entryId: string;
  readonly model: Model;
  readonly taskId: string;
  /** Length of the encoded image. */
  readonly bytes: number;
  readonly traceparent: string;
  /** Milliseconds from enqueueing to delivery, by Redis's clock. */
  readonly queueMs: number;
  /** Set where the entry itself could not be read. */
  readonly unreadable?: Failure;
}

/** A delivery with what its task's hash holds. */
export interface Fetched {
  readonly delivery: Delivery;
  readonly spec: TaskSpec;
  readonly image: Buffer;
  /** Milliseconds of Redis's clock. */
  readonly deadline: number;
  readonly trace: TaskTrace;
}

/** A task whose pixels are ready for the device. */
export interface Ready {
  readonly delivery: Delivery;
  readonly spec: TaskSpec;
  readonly deadline: number;
  readonly trace: TaskTrace;
  readonly decoded: DecodedImage;
  readonly decodeMs: number;
  /** Milliseconds, monotonic. */
  readonly readyAt: number;
}
