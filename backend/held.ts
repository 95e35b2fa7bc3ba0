import type { ConsumerDeps, ConsumerState } from './consumer.js';
import type { Delivery, Task } from './delivery.js';
import type { Holding } from './holding.js';
import { letLeasesGo } from './lease.js';

/** A delivery is held no longer: its task has left, was given up, or is somebody else's. */
export function endHeld(state: ConsumerState, holding: Holding, { lease, claimed }: Delivery): void {
  state.leases.end(lease);
  if (claimed) holding.claimed--;
  holding.roomChanged.notify();
}

/** Forgets tasks without ending them: others have claimed them, or may. */
export function dropTasks(deps: ConsumerDeps, state: ConsumerState, holding: Holding, tasks: readonly Task[]): void {
  if (tasks.length === 0) return;
  for (const { delivery, trace } of tasks) {
    endHeld(state, holding, delivery);
    trace.end();
  }
  deps.metrics.dropped.add(tasks.length, { model: holding.model.manifest.name });
  deps.log.info({ tasks: tasks.length, model: holding.model.manifest.name }, 'tasks were left to other consumers');
}

/** Lets others claim, at once, what waits here for a device that does not do what it should. */
export async function letReadyGo(deps: ConsumerDeps, state: ConsumerState, holding: Holding): Promise<void> {
  const tasks = [...holding.ready.splice(0), ...holding.solos.splice(0)];
  const leases = tasks.map(({ delivery }) => delivery.lease);
  // Where Redis does not answer, the leases run out by themselves.
  await letLeasesGo(deps, leases).catch(() => undefined);
  dropTasks(deps, state, holding, tasks);
}
