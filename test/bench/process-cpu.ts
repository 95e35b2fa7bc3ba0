import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** User and system time of a process with all its threads since its start, in µs, to a hundredth of a second; Linux only. */
export function cpuMicrosOf(pid: number): number {
  // The name in parentheses may hold spaces; the fields behind it are numbered from 3.
  const fields =
    readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
      .split(') ')
      .at(-1)
      ?.split(' ') ?? [];
  return ((Number(fields[11]) + Number(fields[12])) / ticksPerSecond) * 1e6;
}

/** CPU time in µs that each of the processes takes while `work` is under way. */
export async function cpuDuring<Result>(
  pids: Readonly<Record<string, number | readonly number[]>>,
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly micros: Readonly<Record<string, number>> }> {
  const sum = (of: number | readonly number[]) => [of].flat().reduce((total, pid) => total + cpuMicrosOf(pid), 0);
  const taken = () => Object.entries(pids).map(([name, of]) => [name, sum(of)] as const);
  const before = new Map(taken());
  const result = await work();
  const micros = Object.fromEntries(taken().map(([name, now]) => [name, now - (before.get(name) ?? 0)]));
  return { result, micros };
}

/** Memory that a process holds, in bytes. */
export function residentBytesOf(pid: number): number {
  const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}
