/** A number out of what INFO says. @throws Error where it does not say it */
export function infoNumber(info: string, field: string): number {
  const found = new RegExp(`^${field}:(\\d+)`, 'm').exec(info)?.[1];
  if (found === undefined) throw new Error(`INFO does not tell ${field}`);
  return Number(found);
}

/** How often each command was called, by its name, from INFO commandstats; subcommands count by themselves. */
export function commandCalls(info: string): ReadonlyMap<string, number> {
  const lines = info.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm);
  return new Map([...lines].map(([, name = '', calls]) => [name, Number(calls)]));
}

/** What was called more often after than before, and how much more often. */
export function moreCalls(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): Record<string, number> {
  const more = [...after].map(([name, calls]) => [name, calls - (before.get(name) ?? 0)] as const);
  return Object.fromEntries(more.filter(([, calls]) => calls > 0).sort());
}
