/**
 * Every time and size of the chaos runs, in one place. The parts run as shipped; what is scaled here is what they let
 * an operator set, so that a lease that is lost, claimed and run again fits into a few seconds.
 */
export const times = {
  /** SAMPAN_LEASE_MS of the backends; shipped 5 s. */
  leaseMs: 1_000,
  /** SAMPAN_RESULT_SECONDS of the backends; shipped 60 s. */
  resultSeconds: 20,
  /** What clients ask for in x-timeout-ms. The shortest outlasts a lease, a claim and a solo run. */
  deadlinesMs: [5_000, 7_000, 9_000],
  /** The same of clients that come back for their answers, and find another edge where theirs is stalled or gone. */
  laterDeadlineMs: 15_000,
  /** Past its deadline a client waits this long, and then counts as not answered. */
  answerGraceMs: 3_000,
  /** A request that is given up is given up within this. */
  abortWithinMs: 400,

  /** A consumer stands still for so long: longer than its lease, so that others claim what it holds. */
  stoppedMs: 1_800,
  /** Redis is away for so long before it is started again. */
  redisAwayMs: 600,
  /** A connection stands still for so long, in turns: past the lease, and past the bound after which it is given up. */
  stalledMs: [1_800, 7_000],
  /** Memory stays full for so long. */
  memoryFullMs: 1_200,
  /** Connections are reset so many times, so far apart. */
  resets: { count: 3, everyMs: 250 },
  /** A reply is dropped within this, or the fault did not strike. */
  dropWithinMs: 5_000,
  /** Ahead of Greenwich in one part, behind it in another. */
  clocksOffMs: { ahead: 3 * 60_000, behind: -4 * 60_000 },

  /** An operator's supervisor starts a part again after this. */
  restartAfterMs: 200,
  /** Between the end of a fault and the next one: short runs have many faults to get through, long ones show calm too. */
  pauseMs: { short: 300, long: 4_000 },
  /** Seconds from which on a run is long. */
  longFromSeconds: 120,
  /** After a fault, or after a part is ready again, answers may be out of the ordinary for so long. */
  recoveryMs: 2_000,
  /** A result is on its way from the device to Redis for at most so long; a replica is behind by at most so much. */
  settleMs: 1_000,

  /** Bounds of waiting, after which a run fails rather than going on. */
  limits: { readyMs: 60_000, pendingMs: 20_000, quietMs: 30_000 },
  memoryEveryMs: 500,
} as const;

/** Entries that must be pending when a fault strikes. */
export const leastPending = 20;

/** What clients do. Shares are in percent; what is left over is pictures that nobody else sends. */
export const clientHabits = {
  /** Sends a picture that is in flight already. */
  joining: 8,
  /** Sends a picture that was answered already. */
  repeating: 5,
  /** Comes back for the answer. */
  later: 5,
  /** Sends so many pictures in one request. */
  batches: 2,
  batchSize: 5,
  /** Goes away before there is an answer. */
  aborting: 3,
  /** How many go away together when that is the fault. */
  burst: 200,
} as const;

/** A load and what it meets; three simulated devices do about 120 pictures a second together. */
export const simulatedLoad = {
  device: { baseMs: 40, perImageMs: 20, maxBatch: 8 },
  backends: 3,
  ratePerSecond: 150,
  /** SAMPAN_MAX_TASKS of the edges: a second of work. */
  maxTasks: 150,
  mostInFlight: 500,
  /** Load before the clock of the run starts: the runtime's heaps take about that long to find their size. */
  warmUpMs: 10_000,
} as const;

/** The same with a real model: however fast the machine is, there is a backlog. */
export const onnxLoad = {
  backends: 2,
  ratePerSecond: 300,
  maxTasks: 60,
  mostInFlight: 200,
  warmUpMs: 4_000,
  seconds: 8,
} as const;
