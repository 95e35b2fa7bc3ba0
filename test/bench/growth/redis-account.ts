import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';

function field(info: string, name: string): number {
  const value = new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1];
  if (value === undefined) throw new Error(`the server does not tell its ${name}`);
  return Number(value);
}

/** CPU that a server has taken, µs, by its own account, which is finer than the system's. */
export async function cpuMicrosOfRedis(client: Redis): Promise<number> {
  const info = await client.info('cpu');
  return 1e6 * (field(info, 'used_cpu_user') + field(info, 'used_cpu_sys'));
}

/** Bytes that a server's data take, without what is on its way to clients and into the append-only file. */
export async function dataBytesOf(client: Redis): Promise<number> {
  const info = await client.info('memory');
  return field(info, 'used_memory') - field(info, 'mem_clients_normal') - field(info, 'mem_aof_buffer');
}

/** Waits until the append-only file is not being rewritten: that is paid for now and then, not by a task. */
export async function untilNotRewriting(client: Redis): Promise<void> {
  for (;;) {
    const info = await client.info('persistence');
    if (field(info, 'aof_rewrite_in_progress') + field(info, 'aof_rewrite_scheduled') === 0) return;
    await sleep(50);
  }
}
