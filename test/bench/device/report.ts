import type { Column, Measured, Round } from '../bench.js';
import { ratios } from '../rounds.js';
import { shown } from '../table.js';
import { photoSize } from '../whole-path/bench-photos.js';
import type { Batches } from './sides.js';

const columns: readonly Column[] = [
  { key: 'perSecond', label: 'images/s', digits: 1 },
  { key: 'deviceUse', label: 'device runs a batch, % of the time', digits: 0 },
  { key: 'smi', label: 'nvidia-smi, %', digits: 0 },
  { key: 'batchSize', label: 'images per batch', digits: 1 },
  { key: 'decodeCores', label: 'cores beside inference (decoding)', digits: 2 },
  { key: 'backendCores', label: 'cores of the process', digits: 2 },
  { key: 'edgeCores', label: 'cores of the edges', digits: 2 },
  { key: 'redisCores', label: 'cores of Redis', digits: 2 },
  { key: 'decodeMs', label: 'decode ms, waiting included', digits: 1 },
];

/** What goes into the table beside the rounds. */
export interface DeviceReport {
  readonly batches: Batches;
  readonly tried: readonly string[];
  readonly facts: string;
  readonly settings: Measured['settings'];
}

/** A table without goals: it describes a host. */
export function reportOf(rounds: readonly Round[], { batches, tried, facts, settings }: DeviceReport): Measured {
  const told = columns.filter(({ key }) => rounds.some(({ values }) => values[key] !== undefined));
  return {
    rounds: [...rounds],
    columns: told,
    goals: [],
    charts: [
      { name: 'rate', title: `Whole path on ${String(settings['provider'])}: images per second`, key: 'perSecond' },
    ],
    settings: { ...settings, ...photoSize },
    remarks: [
      `device: ${facts}`,
      `providers: ${tried.join('; ')}`,
      `ours / bare loop: ${shown(ratios(rounds, 'perSecond', 'ours', 'bare loop'), 2)}`,
      `batches of ours by size: ${distribution(batches)}`,
      'cores beside inference: CPU of the process, less what inference of as many images took when it was alone',
    ],
  };
}

function distribution(batches: Batches): string {
  const sorted = [...batches].sort(([one], [other]) => one - other);
  const all = sorted.reduce((sum, [, count]) => sum + count, 0);
  const words = sorted.map(([atMost, count]) => `up to ${String(atMost)}: ${((100 * count) / all).toFixed(0)} %`);
  return words.join(', ');
}
