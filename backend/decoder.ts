import type { ConsumerDeps, ConsumerState } from './consumer.js';
import type { Fetched, Task } from './delivery.js';
import { failedOutcome } from './executor.js';
import type { Holding } from './holding.js';
import { settleHeld } from './settle-held.js';
import { createSignal } from './signal.js';
import { endSpan } from './telemetry.js';

/** Decodes one model's images, within a budget of encoded bytes. */
export interface Decoder {
  /** Resolves when a group's bytes fit beside those that are being decoded. */
  roomFor(group: readonly Task[]): Promise<void>;
  /** Starts decoding; the task becomes ready, or leaves as failed. */
  decode(fetched: Fetched): void;
  /** Resolves when no decoding is under way. */
  idle(): Promise<void>;
}

export function createDecoder(deps: ConsumerDeps, state: ConsumerState, holding: Holding): Decoder {
  const freed = createSignal();
  let [bytes, underWay] = [0, 0];
  const ended = (task: Task) => {
    bytes -= task.delivery.bytes;
    underWay--;
    freed.notify();
  };
  return {
    roomFor: async (group) => {
      const wanted = group.reduce((sum, task) => sum + task.delivery.bytes, 0);
      while (bytes > 0 && bytes + wanted > deps.batchBytes) await freed.wait();
    },
    decode: (fetched) => {
      bytes += fetched.delivery.bytes;
      underWay++;
      void decodeTask(deps, state, holding, fetched).then(() => ended(fetched));
    },
    idle: async () => {
      while (underWay > 0) await freed.wait();
    },
  };
}

/** Never rejects. */
async function decodeTask(deps: ConsumerDeps, state: ConsumerState, holding: Holding, fetched: Fetched): Promise<void> {
  const { delivery, spec, deadline, trace, image } = fetched;
  const startedAt = deps.now();
  const span = trace.child('decode');
  try {
    const decoded = await holding.model.decode(image);
    const readyAt = deps.now();
    const decodeMs = readyAt - startedAt;
    endSpan(span);
    deps.metrics.decodeSeconds.record(decodeMs / 1000, { model: spec.model });
    holding.preparing--;
    const queue = delivery.claimed ? holding.solos : holding.ready;
    queue.push({ delivery, spec, deadline, trace, decoded, decodeMs, readyAt });
    state.work.notify();
  } catch (error) {
    endSpan(span, error);
    const decodeMs = deps.now() - startedAt;
    holding.preparing--;
    void settleHeld(deps, state, holding, [failedOutcome({ ...fetched, decodeMs }, error, 'inference_failed')]);
  }
}
