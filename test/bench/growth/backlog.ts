import type { Round } from '../bench.js';
import { interleaved } from '../rounds.js';
import { withSurroundings } from '../surroundings.js';
import { openPassage, type Passage } from './passage.js';
import { ends, flat, type SectionRun } from './section.js';

const backlogSide = 'tasks through a backlog';
const tenantSide = 'tasks of tenants';

interface Standing {
  readonly side: string;
  readonly point: number;
  readonly backlog: number;
  readonly tenants: number;
}

/** Tasks of 1 kB through a standing backlog: enqueue, read, fetch, leave; by the size of the backlog, and by tenants. */
export const backlogAndTenants: SectionRun = ({ rounds: count, quick, say }) =>
  withSurroundings(async (here) => {
    const backlogs = quick ? [10, 1000] : [10, 1000, 10_000, 100_000];
    const tenants = quick ? [1, 10, 100] : [1, 10, 100, 1000];
    const standing: readonly Standing[] = [
      ...backlogs.map((backlog) => ({ side: backlogSide, point: backlog, backlog, tenants: 1 })),
      ...tenants.map((each) => ({ side: tenantSide, point: each, backlog: 2000, tenants: each })),
    ];
    const passages: Passage[] = [];
    try {
      const filled: { readonly one: Standing; readonly taskBytes: number }[] = [];
      for (const one of standing) {
        say(`filling: ${one.side}, ${String(one.point)}`);
        const passage = await openPassage((await here.redis('stream')).url, one.tenants);
        passages.push(passage);
        filled.push({ one, taskBytes: await passage.fill(one.backlog) });
      }
      const tasks = quick ? 400 : 8000;
      const sides = standing.flatMap(({ side, point }, i) => {
        const passage = passages[i];
        return passage ? [{ name: side, point, measure: () => passage.pass(tasks) }] : [];
      });
      const rounds = await interleaved(sides, { rounds: count, warmUps: 1, say });
      return {
        rounds: withMemory(rounds, filled),
        goals: [...goalsOf(rounds, backlogs, tenants), memoryGoal(filled)],
        settings: { tasksEach: tasks, standingBacklogOfTenants: 2000 },
        remarks: [
          `${backlogSide}, ${tenantSide}: a server for each size; eight tasks travel together; CPU by Redis's own account and of the process that is edge and consumer in one`,
          'with one tenant the account of eight tasks is written once, with ten or more it is written eight times: hence 10 is the smallest there',
        ],
      };
    } finally {
      for (const passage of passages) passage.close();
    }
  });

function goalsOf(rounds: readonly Round[], backlogs: readonly number[], tenants: readonly number[]) {
  const sides = [
    { side: backlogSide, ...ends(backlogs) },
    { side: tenantSide, ...ends(tenants.slice(1)) },
  ];
  return sides.flatMap((one) => [
    flat(rounds, { ...one, key: 'redisMicros', what: "Redis's CPU per task" }),
    flat(rounds, { ...one, key: 'callerMicros', what: 'CPU of edge and consumer per task' }),
  ]);
}

type Filled = readonly { readonly one: Standing; readonly taskBytes: number }[];

/** Of few tasks the server's own memory cannot be told from theirs. */
const fewestTold = 1000;
const told = (filled: Filled) => filled.filter(({ one }) => one.side === backlogSide && one.backlog >= fewestTold);

function memoryGoal(filled: Filled) {
  return {
    promise: `memory of Redis per waiting task beyond its image at most 1,024 bytes, backlogs from ${String(fewestTold)}`,
    perRound: told(filled).map(({ taskBytes }) => taskBytes),
    bound: { atMost: 1024 },
  };
}

function withMemory(rounds: readonly Round[], filled: Filled): Round[] {
  return rounds.map((round) => {
    const found = told(filled).find(({ one }) => one.side === round.side && one.point === round.point);
    return found && round.round === 0 ? { ...round, values: { ...round.values, taskBytes: found.taskBytes } } : round;
  });
}
