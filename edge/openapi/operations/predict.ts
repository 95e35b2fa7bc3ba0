import { answerExample, formUploadExample, jsonUploadExample, nsfwAnswerExample, waitingExample } from '../examples.js';
import { paying, type CurlExample, type Operation } from '../operation.js';
import { commonParameters, modelParams } from '../parameters.js';

/** One picture. */
export const predictOperation: Operation = {
  method: 'post',
  path: '/v1/models/{model}/predict',
  id: 'predict',
  tag: 'Pictures',
  summary: 'Ask a model about a picture',
  description:
    'JPEG, PNG, WebP, GIF, AVIF and TIFF are read; of animations the first frame; EXIF orientation is applied. The picture is the body itself, a field of a form, or base64 in JSON (10 MiB at most unless the operator says otherwise). Parameters stand in the query or in the body, each once; which ones a model takes follows from its task. With `Prefer: respond-async` the answer is 202 and a place to come back to, unless the cache has it: then it is told at once, with 200.',
  access: 'paid',
  parameters: ['model', ...modelParams, 'x-timeout-ms', 'prefer-async', 'idempotency-key', ...commonParameters],
  body: [
    { type: 'image/*' },
    { type: 'application/octet-stream' },
    { type: 'multipart/form-data', schema: 'FormUpload', examples: { photo: formUploadExample } },
    { type: 'application/json', schema: 'JsonUpload', examples: { tiny: jsonUploadExample } },
  ],
  answers: [
    {
      status: 200,
      description:
        'What the model says. Boxes are `[x, y, width, height]` in pixels of the upright original. An answer from the cache holds the `id` and `timing` of the task that made it.',
      headers: ['x-cache', 'server-timing'],
      content: [
        {
          ...{ type: 'application/json', schema: 'Answer' },
          examples: { detections: answerExample, labels: nsfwAnswerExample },
        },
      ],
    },
    {
      status: 202,
      description: 'The task is in the stream; `Location` says where to come back to.',
      headers: ['location', 'preference-applied', 'cache-control'],
      content: [{ type: 'application/json', schema: 'Task', examples: { waiting: waitingExample } }],
    },
  ],
  codes: [
    ...paying,
    'model_not_found',
    'no_live_consumer',
    'invalid_header',
    'invalid_params',
    'unsupported_content_type',
    'invalid_multipart',
    'invalid_json',
    'invalid_base64',
    'image_missing',
    'body_incomplete',
    'body_too_large',
    'unsupported_image',
    'image_unreadable',
    'image_too_large',
    'idempotency_mismatch',
    'overloaded',
    'task_lost',
    'deadline_exceeded',
    // Told by the consumer.
    'model_version_gone',
    'inference_failed',
    'task_unreadable',
    'task_dead',
    // Of an accepted task that a flush took away before it was shown.
    'task_not_found',
    'internal',
  ],
  curl: curlExamples(),
};

function curlExamples(): readonly CurlExample[] {
  return [
    {
      label: 'The picture as the body',
      source: `curl --data-binary @photo.jpg -H 'content-type: image/jpeg' "$BASE/v1/models/coco/predict?minScore=0.5"`,
    },
    { label: 'A form', source: `curl -F image=@photo.jpg -F maxDetections=5 "$BASE/v1/models/coco/predict"` },
    {
      label: 'JSON, through a pipe: a photo is too long for a command line',
      source: `printf '{"image":"%s","params":{"top":2}}' "$(base64 < photo.jpg | tr -d '\\n')" |
  curl -H 'content-type: application/json' -d @- "$BASE/v1/models/nsfw/predict"`,
    },
    {
      label: 'Come back for the answer',
      source: `curl -i -H 'prefer: respond-async' -H 'idempotency-key: photo-17' -H 'content-type: image/jpeg' --data-binary @photo.jpg "$BASE/v1/models/coco/predict"`,
    },
  ];
}
