import { answerExample, modelDetailsExample, modelExample } from '../examples.js';
import { identifying, paying, type Operation } from '../operation.js';
import { commonParameters, modelParams } from '../parameters.js';

const list: Operation = {
  method: 'get',
  path: '/v1/models',
  id: 'listModels',
  tag: 'Models',
  summary: 'What models there are',
  description:
    'The models that the caller may ask: which parameters each takes, and how many consumers serve it at the moment.',
  access: 'identified',
  parameters: commonParameters,
  answers: [
    {
      ...{ status: 200, description: 'The models, by name.' },
      content: [{ type: 'application/json', schema: 'Models', examples: { one: { models: [modelExample] } } }],
    },
  ],
  codes: [...identifying, 'internal'],
  curl: [{ label: 'All models', source: `curl "$BASE/v1/models"` }],
};

const show: Operation = {
  method: 'get',
  path: '/v1/models/{model}',
  id: 'showModel',
  tag: 'Models',
  summary: 'All that is known of one model',
  description: 'Its labels, how it wants to be fed, where it comes from, and who serves it.',
  access: 'identified',
  parameters: ['model', ...commonParameters],
  answers: [
    {
      ...{ status: 200, description: 'The model.' },
      content: [{ type: 'application/json', schema: 'ModelDetails', examples: { coco: modelDetailsExample } }],
    },
  ],
  codes: [...identifying, 'model_not_allowed', 'model_not_found', 'no_live_consumer', 'internal'],
  curl: [{ label: 'One model', source: `curl "$BASE/v1/models/coco"` }],
};

const lookup: Operation = {
  method: 'get',
  path: '/v1/models/{model}/results/{md5}',
  id: 'lookUpResult',
  tag: 'Pictures',
  summary: 'An answer that is already there',
  description:
    'The stored answer for a picture, without sending the picture: by its digests, with the same parameters as it was asked with. It costs one picture of what a caller may ask, whether it is found or not.',
  access: 'paid',
  parameters: ['model', 'md5', 'sha256', ...modelParams, 'if-none-match', ...commonParameters],
  answers: [
    {
      status: 200,
      description: 'The stored bytes.',
      headers: ['x-cache', 'etag', 'cache-control'],
      content: [
        {
          ...{ type: 'application/json', schema: 'Answer' },
          examples: { found: { ...answerExample, cache: 'hit' } },
        },
      ],
    },
    {
      status: 304,
      description: 'The caller has these bytes already.',
      headers: ['x-cache', 'etag', 'cache-control'],
      content: [],
    },
  ],
  codes: [
    ...paying,
    'model_not_found',
    'no_live_consumer',
    'invalid_params',
    'invalid_digest',
    'sha256_required',
    'result_not_found',
    'internal',
  ],
  curl: [
    {
      label: 'By both digests',
      source: `curl "$BASE/v1/models/coco/results/$(md5sum < photo.jpg | cut -c1-32)?sha256=$(sha256sum < photo.jpg | cut -c1-64)&minScore=0.5"`,
    },
  ],
};

export const lookupOperation = lookup;
export const modelOperations: readonly Operation[] = [list, show];
