import { batchExample, batchFormExample, jsonUploadExample, lines } from '../examples.js';
import { paying, type Operation } from '../operation.js';
import { commonParameters, modelParams } from '../parameters.js';

/** Many pictures in one request. */
export const batchOperation: Operation = {
  method: 'post',
  path: '/v1/models/{model}/batch',
  id: 'predictBatch',
  tag: 'Pictures',
  summary: 'Ask a model about many pictures',
  description:
    'A form with one part a picture, all called `image` (parameters before the first of them), or a line of JSON a picture. Each picture succeeds or fails by itself; `x-timeout-ms` holds for each, from when there is room for it. With `Accept: application/x-ndjson` each outcome is told as soon as it is there, in the order in which they are done; else all of them are told in the order of the pictures. A batch that breaks off (the body is broken or has too many pictures, there was no room in a picture’s time, the day’s pictures are used up, the edge stops) ends with an item that says why, and pictures from there on were not looked at; where that is the first one, the whole request is answered with the problem.',
  access: 'paid',
  parameters: ['model', ...modelParams, 'x-timeout-ms', ...commonParameters],
  body: [
    { type: 'multipart/form-data', schema: 'BatchForm', examples: { photos: batchFormExample } },
    {
      ...{ type: 'application/x-ndjson', schema: 'Lines', item: 'JsonUpload' },
      examples: { tiny: lines([jsonUploadExample, jsonUploadExample]) },
    },
  ],
  answers: [
    {
      status: 200,
      description: 'What became of each picture: an answer, or a problem.',
      content: [
        { type: 'application/json', schema: 'BatchAnswer', examples: { two: batchExample } },
        {
          ...{ type: 'application/x-ndjson', schema: 'Lines', item: 'BatchItem' },
          examples: { two: lines([...batchExample].reverse()) },
        },
      ],
    },
  ],
  codes: [
    ...paying,
    'model_not_found',
    'no_live_consumer',
    'invalid_params',
    'invalid_header',
    'unsupported_content_type',
    'invalid_multipart',
    'image_missing',
    'body_incomplete',
    'overloaded',
    'deadline_exceeded',
    'edge_stopping',
    'internal',
  ],
  curl: [
    {
      label: 'A form; answers in the order of the pictures',
      source: `curl -F image=@photo.jpg -F image=@photo.jpg "$BASE/v1/models/coco/batch"`,
    },
    {
      label: 'Each answer as soon as it is there',
      source: `curl -N -H 'accept: application/x-ndjson' -F image=@photo.jpg -F image=@photo.jpg "$BASE/v1/models/coco/batch"`,
    },
  ],
};
