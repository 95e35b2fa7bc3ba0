import type { Account, Evidence } from './account.js';
import type { PartHistory } from './windows.js';
import { leastPending, times } from './times.js';

/**
 * How much more a part may hold in the last quarter of a run than in the first half. What an edge takes beside its heap
 * grows from 32 to 55 MiB within 80 s of this load, and then stays: a short run sees a part that is warming up.
 */
const mostGrowth = { short: 1.25, long: 1.1 };
const mostExamples = 5;

/** Why a run failed; empty where it passed. The rules stand in README.md. */
export function verdictOn(account: Account): string[] {
  const { evidence } = account;
  return [
    ...strikesInVain(evidence),
    ...recordsAmiss(evidence),
    ...examples(
      account.complaints,
      ({ what }) => what,
      'requests',
      ({ record }) => JSON.stringify(record),
    ),
    ...examples(
      account.reruns.filter(({ reason }) => reason === undefined),
      () => 'were run again without a reason',
      'pictures',
      (rerun) => JSON.stringify(rerun),
    ),
    ...(account.strangers.length > 0 ? [`${String(account.strangers.length)} pictures were run that nobody sent`] : []),
    ...evidence.leftovers.found.slice(0, mostExamples).map((what) => `left over: ${what}`),
    ...deathsInVain(evidence),
    ...memoryGrown(evidence),
    ...[...evidence.edges, ...evidence.backends].flatMap(unaskedEnds),
    ...evidence.badEnds.map((end) => `did not drain: ${end}`),
  ];
}

function strikesInVain({ strikes, missed }: Evidence): string[] {
  const early = strikes.filter(({ pending }) => pending < leastPending);
  return [
    ...missed.map((what) => `did not strike: ${what}`),
    ...early.map(({ fault, pending }) => `${fault}: struck while only ${String(pending)} entries were pending`),
  ];
}

/** One record for each request that was sent: a second one would be a second answer. */
function recordsAmiss({ records, clients }: Evidence): string[] {
  const ids = new Set(records.map(({ id }) => id));
  return [
    ...(ids.size < records.length ? [`${String(records.length - ids.size)} requests ended twice`] : []),
    ...(ids.size !== clients.sent ? [`${String(clients.sent)} were sent, ${String(ids.size)} are on record`] : []),
    ...(records.some(({ status }) => status === 200) ? [] : ['nothing at all was answered']),
  ];
}

/** A task dies of two solo runs that did not end; without two faults that end runs none can have. */
function deathsInVain({ leftovers, strikes }: Evidence): string[] {
  const fatal = strikes.filter(({ excuses }) => excuses !== 'nobody').length;
  return fatal >= 2 ? [] : leftovers.deadLetters.map((letter) => `a dead letter without a reason: ${letter}`);
}

function memoryGrown({ memory }: Evidence): string[] {
  const most = (samples: number) =>
    samples * times.memoryEveryMs >= times.longFromSeconds * 1000 ? mostGrowth.long : mostGrowth.short;
  return memory
    .filter(({ firstHalf, lastQuarter, samples }) => !(lastQuarter <= firstHalf * most(samples)))
    .map(
      ({ part, firstHalf, lastQuarter }) => `${part} grew from ${firstHalf.toFixed()} to ${lastQuarter.toFixed()} MiB`,
    );
}

function unaskedEnds({ name, lives }: PartHistory): string[] {
  return lives
    .filter(({ goneAt, askedAt }) => goneAt !== undefined && askedAt === undefined)
    .map(({ how, pid, said }) => `${name} (process ${String(pid)}) ended unasked: ${how ?? ''}\n      ${said ?? ''}`);
}

/** One reason for each kind of thing that was found, with a few examples. */
function examples<T>(all: readonly T[], kind: (one: T) => string, noun: string, show: (one: T) => string): string[] {
  const kinds = new Set(all.map(kind));
  return [...kinds].map((name) => {
    const own = all.filter((one) => kind(one) === name);
    const shown = own.slice(0, mostExamples).map((one) => `\n      ${show(one)}`);
    return `${String(own.length)} ${noun}: ${name}${shown.join('')}`;
  });
}
