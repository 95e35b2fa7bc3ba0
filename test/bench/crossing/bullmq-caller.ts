/** What a user of BullMQ writes to have a picture classified: adds a job, and waits for its result. */
import { randomUUID } from 'node:crypto';
import { Queue, QueueEvents } from 'bullmq';
import { checkAnswer, jobOf, queueName, resultWays } from './bullmq-job.js';
import { callLoad } from './caller-load.js';
import { obey } from './messages.js';

const [url = ''] = process.argv.slice(2);
// Automatic pipelines cost it more than they spared, at every concurrency.
const connection = { url };
const queue = new Queue(queueName, { connection });
const events = new QueueEvents(queueName, { connection });
// One listener for each job in flight is what waitUntilFinished does.
for (const emitter of [queue, events]) emitter.setMaxListeners(0);
await Promise.all([queue.waitUntilReady(), events.waitUntilReady()]);

const waiting = new Map<string, (returned: unknown) => void>();
events.on('completed', ({ jobId, returnvalue }) => {
  waiting.get(jobId)?.(returnvalue);
  waiting.delete(jobId);
});
events.on('failed', ({ jobId, failedReason }) => {
  throw new Error(`job ${jobId} failed: ${failedReason}`);
});

/**
 * As its documentation has it. waitUntilFinished asks for the job once more, and throws where a quick one has been
 * removed by then: the last thousand have to stay.
 */
const byWaiting = async (image: Buffer): Promise<unknown> => {
  const job = await queue.add('predict', jobOf(image), { removeOnComplete: 1000, removeOnFail: true });
  return job.waitUntilFinished(events);
};

/** Under an id of its own a job can be waited for before it is added, and nobody has to ask whether it is done. */
const byListening = async (image: Buffer): Promise<unknown> => {
  const jobId = randomUUID();
  const returned = new Promise<unknown>((resolve) => waiting.set(jobId, resolve));
  await queue.add('predict', jobOf(image), { jobId, removeOnComplete: true, removeOnFail: true });
  return returned;
};

let returned = byWaiting;
obey({
  load: (command) =>
    callLoad(command, async (image) => {
      checkAnswer(await returned(image));
    }),
  tune: (setting) => {
    returned = setting === resultWays.listener ? byListening : byWaiting;
  },
  stop: async () => {
    await Promise.all([queue.close(), events.close()]);
  },
});
