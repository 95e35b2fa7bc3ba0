import type { Bench, Chart } from '../bench.js';
import { httpColumns } from '../http/http-side.js';
import { backlogAndTenants } from './backlog.js';
import { cacheEntries } from './cache.js';
import { catalogue } from './catalogue.js';
import type { Section } from './section.js';
import { waitingCallers } from './waiting.js';

const sections = [backlogAndTenants, catalogue, cacheEntries, waitingCallers];

export const growth: Bench = {
  name: 'growth',
  about:
    'What one more task or request costs as other things grow: the backlog, tenants, models and their consumers, cached ' +
    'answers, callers that wait at one edge. Every size has servers and edges of its own, and the sizes take turns.',
  run: async (options) => {
    const measured: Section[] = [];
    for (const section of sections) measured.push(await section(options));
    return {
      rounds: measured.flatMap(({ rounds }) => rounds),
      columns: [
        { key: 'redisMicros', label: 'Redis, CPU µs a task', digits: 1 },
        { key: 'callerMicros', label: 'edge and consumer, CPU µs a task', digits: 1 },
        { key: 'taskBytes', label: 'Redis, bytes a task beyond its image', digits: 0 },
        ...httpColumns,
        { key: 'idleEdge', label: 'idle edge, CPU ms/s', digits: 1 },
        { key: 'idleBackend', label: 'idle backend, CPU ms/s', digits: 1 },
        { key: 'callerKiB', label: 'edge, KiB a waiting caller', digits: 1 },
      ],
      goals: measured.flatMap(({ goals }) => goals),
      charts: [
        chart('tasks', 'Redis, CPU µs a task', 'redisMicros'),
        chart('requests', 'Edge, CPU µs a request', 'server'),
      ],
      settings: Object.fromEntries(measured.flatMap(({ settings }) => Object.entries(settings))),
      remarks: measured.flatMap(({ remarks }) => remarks),
    };
  },
};

const chart = (name: string, title: string, key: string): Chart => ({
  ...{ name, title, key, axis: 'how many there are', logarithmic: true },
});
