/** A worker of BullMQ's whose inference costs nothing; how many jobs it works on at a time can be changed. */
import { Worker } from 'bullmq';
import { queueName, type PictureJob } from './bullmq-job.js';
import { obey } from './messages.js';

const [url = ''] = process.argv.slice(2);
const worker = new Worker<PictureJob>(
  queueName,
  async ({ data }) => {
    const image = Buffer.from(data.image, 'base64');
    return [{ label: image.toString('hex', 0, 4), score: 1 }];
  },
  { connection: { url }, concurrency: 64 },
);
worker.on('error', (error) => {
  console.error(error);
});
await worker.waitUntilReady();
obey({
  tune: (setting) => {
    worker.concurrency = Number(setting);
  },
  stop: () => worker.close(),
});
