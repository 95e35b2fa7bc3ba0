import type { Answered, Operation } from '../operation.js';
import { commonParameters } from '../parameters.js';
import { openApiVersion } from '../service-schemas.js';

const ofService = { method: 'get', tag: 'Service', access: 'open', codes: [] } as const;

const live: Operation = {
  ...ofService,
  path: '/healthz',
  id: 'live',
  summary: 'Whether this process answers',
  description: 'Only when it does not can a restart help.',
  parameters: commonParameters,
  answers: [
    {
      ...{ status: 200, description: 'It does.' },
      content: [{ type: 'application/json', schema: 'Live', examples: { live: { status: 'live' } } }],
    },
  ],
  curl: [{ label: 'Live', source: `curl "$BASE/healthz"` }],
};

const notReady = { status: 'not ready', reasons: ['the stream cannot be reached'] };
const ready: Operation = {
  ...ofService,
  path: '/readyz',
  id: 'ready',
  summary: 'Whether requests may be sent here now',
  description: 'And if not, why. An edge is ready without a consumer.',
  parameters: commonParameters,
  answers: [
    {
      ...{ status: 200, description: 'They may.' },
      content: [{ type: 'application/json', schema: 'Ready', examples: { ready: { status: 'ready', reasons: [] } } }],
    },
    {
      ...{ status: 503, description: 'Not now. This is no problem document: it is for those who route requests.' },
      content: [{ type: 'application/json', schema: 'NotReady', examples: { away: notReady } }],
    },
  ],
  curl: [{ label: 'Ready', source: `curl "$BASE/readyz"` }],
};

const unchanged: Answered = {
  ...{ status: 304, description: 'The caller has it already.', headers: ['etag', 'cache-control'], content: [] },
};
const documentExample = {
  ...{ openapi: openApiVersion, info: { title: 'Sampan', version: '1' } },
  ...{ paths: { '/healthz': {} }, components: {} },
};

const describe: Operation = {
  ...ofService,
  path: '/openapi.json',
  id: 'describe',
  summary: 'This document',
  description: 'What can be asked here and what is answered, for programs: OpenAPI 3.1.',
  parameters: ['if-none-match', ...commonParameters],
  answers: [
    {
      ...{ status: 200, description: 'The document.', headers: ['etag', 'cache-control'] },
      content: [{ type: 'application/json', schema: 'Document', examples: { head: documentExample } }],
    },
    unchanged,
  ],
  curl: [{ label: 'The document', source: `curl "$BASE/openapi.json"` }],
};

const read: Operation = {
  ...ofService,
  path: '/docs',
  id: 'read',
  summary: 'The same for people',
  description: 'One page without scripts or anything from elsewhere, with lines to copy.',
  parameters: commonParameters,
  answers: [
    {
      ...{ status: 200, description: 'The page.', headers: ['content-security-policy', 'cache-control'] },
      content: [{ type: 'text/html', schema: 'Page', examples: { head: '<!doctype html><html lang="en">…</html>' } }],
    },
  ],
  curl: [{ label: 'The page', source: `curl "$BASE/docs"` }],
};

export const serviceOperations: readonly Operation[] = [live, ready, describe, read];
