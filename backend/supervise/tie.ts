export const startedMessage = 'started';

/** What a backend tells its supervisor. */
export interface SupervisorTie {
  /** Everything is up: an end from now on is not one of "it cannot start". */
  started(): void;
}

/**
 * Ties this process to the supervisor that started it: when that one is gone, however it went, this process gets
 * SIGTERM. Where no supervisor is, nothing happens.
 */
export function tieToSupervisor(): SupervisorTie {
  // Only a process with a channel has this property; it is false when the other end has gone already.
  if (!('connected' in process)) return { started: () => undefined };
  const end = () => {
    console.error('the supervisor is gone; this backend drains');
    process.kill(process.pid, 'SIGTERM');
  };
  if (process.connected) process.once('disconnect', end);
  else end();
  // Waiting for the supervisor's end is no reason to stay.
  process.channel?.unref();
  // A supervisor that is gone cannot be told; that it is gone is noticed by itself.
  return { started: () => process.send?.(startedMessage, undefined, undefined, () => undefined) };
}
