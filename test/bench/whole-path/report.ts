import type { Column, Goal, Measured, Round } from '../bench.js';
import { ratios } from '../rounds.js';
import { photoSize } from './bench-photos.js';
import { formName } from './parties.js';
import { layoutName } from './layouts.js';
import { overloaded, sideNames, type Task } from './task.js';

const columns: readonly Column[] = [
  { key: 'perSecond', label: 'images/s', digits: 1 },
  { key: 'cpuMs', label: 'CPU ms per image', digits: 2 },
  { key: 'edgeCpuMs', label: 'edge', digits: 2 },
  { key: 'backendCpuMs', label: 'backend', digits: 2 },
  { key: 'redisCpuMs', label: 'Redis', digits: 2 },
  { key: 'generatorCpuMs', label: 'generator (not in the sum)', digits: 2 },
  { key: 'goodput', label: '200 within 2 s, per s', digits: 1 },
  { key: 'refused', label: 'not 200, %', digits: 0 },
  { key: 'p50Ms', label: 'p50 ms', digits: 0 },
  { key: 'p99Ms', label: 'p99 ms', digits: 0 },
];

/**
 * What was found, as a table with its goals.
 * @param perSecond images that the queue did at capacity
 */
export function reportOf(rounds: readonly Round[], { material, sizes, chosen }: Task, perSecond: number): Measured {
  const { ours, loop, queue } = sideNames;
  const goals: Goal[] = [
    {
      promise: 'at least 0.85 of the bare loop in images/s',
      perRound: ratios(rounds, 'perSecond', ours, loop),
      bound: { atLeast: 0.85 },
    },
    {
      promise: "at least 1.5 × the in-process queue's goodput at twice its capacity",
      perRound: ratios(rounds, 'goodput', overloaded(ours), overloaded(queue)),
      bound: { atLeast: 1.5 },
    },
  ];
  return {
    rounds: [...rounds],
    columns: [...columns],
    goals,
    charts: [
      { name: 'capacity', title: 'Whole path on the CPU at capacity: images per second', key: 'perSecond' },
      { name: 'goodput', title: "At twice the queue's capacity: answers within 2 s, per second", key: 'goodput' },
    ],
    settings: {
      ...{ model: `${material.model}@${material.version}`, photos: material.files.length, ...photoSize },
      ...{ callers: sizes.callers, imagesPerRound: sizes.images, overloadSeconds: sizes.overloadSeconds },
      ...{ ours: layoutName(chosen.ours), bareLoop: layoutName(chosen.loop), queue: formName(chosen.queue) },
      overloadPerSecond: Math.round(2 * perSecond),
    },
    remarks: [
      ...chosen.tried,
      'The generator runs on the same cores; its CPU is not in the sum, its room is missing to ours and the queue alone.',
      'The queue decodes the same pixels, without the checks, the upright orientation and the size of the original; it answers as JSON.',
      'When overloaded, all callers are connected before the load begins: what waits for a connection would wait in the operating system.',
      'Goodput: answers of 200 within 2 s, over the time in which such answers could come (2 s more than the load lasts).',
      'An overloaded queue without a bound gets slower with every second, so its goodput falls with the length of a round.',
    ],
  };
}
