// `npm run trace [photo] [model]`: sends one photo through a private system and prints the miss's trace as a tree.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { missingFromMiss } from './miss-trace.js';
import { startOtlpReceiver, type OtlpReceiver } from './otlp-receiver.js';
import { startTracedSystem } from './system.js';
import { drawTrace } from './trace-tree.js';

// From dist/infra/trace to the repository's root.
const repository = fileURLToPath(new URL('../../../', import.meta.url));
const samplePhoto = join(repository, 'node_modules', '@vladmandic', 'face-api', 'demo', 'sample1.jpg');
const arrivalLimitMs = 15_000;
const say = (what: string) => console.error(`  ${what}`);

/** Starts all, sends the photo, prints the tree; answers the exit code: 0 only for one whole trace. */
async function traceOneMiss(photo: string, model: string): Promise<number> {
  const receiver = await startOtlpReceiver();
  try {
    const system = await startTracedSystem({ repository, otlpUrl: receiver.url, env: process.env, say });
    try {
      const traceId = await predict(system.url, model, await readFile(photo));
      await untilWhole(receiver, traceId);
      return report(receiver, traceId);
    } finally {
      await system.stop();
    }
  } finally {
    await receiver.close();
  }
}

/** Sends the photo; answers the trace id that the edge gave the request. */
async function predict(edge: string, model: string, photo: Buffer<ArrayBuffer>): Promise<string> {
  const response = await fetch(`${edge}/v1/models/${model}/predict`, {
    method: 'POST',
    headers: { 'content-type': 'image/jpeg', 'x-timeout-ms': '30000' },
    body: photo,
  });
  const body = await response.text();
  if (response.status !== 200) throw new Error(`the edge answered ${response.status}: ${body}`);
  const traceId = response.headers.get('traceresponse')?.split('-')[1];
  if (traceId === undefined) throw new Error('the answer has no traceresponse header');
  return traceId;
}

/** What does not arrive in time is told by the report. */
async function untilWhole(receiver: OtlpReceiver, traceId: string): Promise<void> {
  const whole = receiver.waitFor((spans) => missingFromMiss(spans, traceId).length === 0, arrivalLimitMs);
  await whole.catch(() => undefined);
}

function report(receiver: OtlpReceiver, traceId: string): number {
  console.log(drawTrace(receiver.spans(), traceId));
  const missing = missingFromMiss(receiver.spans(), traceId);
  for (const what of missing) console.error(`incomplete: ${what}`);
  return missing.length === 0 ? 0 : 1;
}

try {
  const [photo = samplePhoto, model = 'coco'] = process.argv.slice(2);
  process.exitCode = await traceOneMiss(photo, model);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
