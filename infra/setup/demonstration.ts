import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import {
  classifyPredictionsSchema,
  detectPredictionsSchema,
  type Detection,
  type Labelled,
} from '../../contracts/prediction.js';

/** A photo of three people, from a package that is installed for the tests. */
export const samplePhoto = 'node_modules/@vladmandic/face-api/demo/sample1.jpg';

const answerSchema = z.object({ predictions: z.unknown() });

interface Answered {
  readonly predictions: unknown;
  /** What the header x-cache says: hit, miss or joined. */
  readonly cache: string;
  readonly ms: number;
}

/**
 * Sends the sample photo three times: to find people, the same again for the cache, and to the moderation model.
 * @param edge the edge's address, without a trailing slash
 * @param key where the edge asks for one
 * @returns lines to print
 * @throws Error where an answer is not 200 or not in the expected form
 */
export async function demonstrate(root: string, edge: string, key?: string): Promise<readonly string[]> {
  const photo = readFileSync(join(root, samplePhoto));
  const first = await predict(edge, 'coco', photo, key);
  const again = await predict(edge, 'coco', photo, key);
  const moderation = await predict(edge, 'nsfw', photo, key);
  return [
    `What model coco sees in ${samplePhoto}:`,
    ...detectionTable(detectPredictionsSchema.parse(first.predictions)),
    '',
    `  the first time   ${milliseconds(first.ms)}   cache: ${first.cache}`,
    `  the same again   ${milliseconds(again.ms)}   cache: ${again.cache}`,
    '',
    `What model nsfw says (its labels are modest; the numbers are what is shown here):`,
    ...classTable(classifyPredictionsSchema.parse(moderation.predictions)),
  ];
}

async function predict(
  edge: string,
  model: string,
  photo: Uint8Array<ArrayBuffer>,
  key: string | undefined,
): Promise<Answered> {
  const started = performance.now();
  const response = await fetch(`${edge}/v1/models/${model}/predict`, {
    method: 'POST',
    headers: { 'content-type': 'image/jpeg', ...(key === undefined ? {} : { 'x-api-key': key }) },
    body: photo,
  });
  const text = await response.text();
  const ms = performance.now() - started;
  if (!response.ok) throw new Error(`model ${model} answered ${response.status}: ${text.slice(0, 500)}`);
  const { predictions } = answerSchema.parse(JSON.parse(text));
  return { predictions, ms, cache: response.headers.get('x-cache') ?? 'unknown' };
}

function detectionTable(detections: readonly Detection[]): string[] {
  if (detections.length === 0) return ['  nothing'];
  const rows = detections.map(({ label, score, box }) => {
    const [x, y, width, height] = box.map((pixels) => String(Math.round(pixels)).padStart(5));
    return `  ${label.padEnd(14)} ${score.toFixed(2)}  ${x} ${y}  ${width} × ${height}`;
  });
  return [`  ${'label'.padEnd(14)} score     x     y  width × height (pixels)`, ...rows];
}

function classTable(classes: readonly Labelled[]): string[] {
  return classes.map(
    ({ label, score }) => `  ${label.padEnd(14)} ${score.toFixed(4)}  ${'▇'.repeat(Math.round(score * 30))}`,
  );
}

function milliseconds(ms: number): string {
  return `${ms.toFixed(1).padStart(7)} ms`;
}
