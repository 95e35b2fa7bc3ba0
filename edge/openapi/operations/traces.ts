import { traceExample, traceSummaryExample } from '../trace-examples.js';
import { identifying, type Operation } from '../operation.js';
import { commonParameters } from '../parameters.js';

const theTrace = '4bf92f3577b34da6a3ce929d0e0e4736';
const codes = [...identifying, 'permission_missing', 'traces_unavailable', 'internal'] as const;

const list: Operation = {
  method: 'get',
  path: '/v1/traces',
  id: 'listTraces',
  tag: 'Service',
  summary: 'Traces that are kept',
  description:
    'The last first, or with `minMs` the slowest. There are none unless the operator keeps them (`SAMPAN_TRACE_STORE`). Needs the permission `ops`.',
  access: 'identified',
  parameters: ['trace-model', 'minMs', 'status', 'since', 'count', ...commonParameters],
  answers: [
    {
      ...{ status: 200, description: 'The traces.' },
      content: [{ type: 'application/json', schema: 'Traces', examples: { one: { traces: [traceSummaryExample] } } }],
    },
  ],
  codes: [...codes, 'invalid_params'],
  curl: [{ label: 'What failed last', source: `curl "$BASE/v1/traces?status=5"` }],
};

const show: Operation = {
  method: 'get',
  path: '/v1/traces/{id}',
  id: 'showTrace',
  tag: 'Service',
  summary: 'Why a request was slow',
  description:
    'Where the time of a request went, which part of that is unusual for its model, and all spans. The id is that of the trace (`traceresponse`), of the request (`x-request-id`) or of the task. Needs the permission `ops`.',
  access: 'identified',
  parameters: ['trace-id', ...commonParameters],
  answers: [
    {
      ...{ status: 200, description: 'The trace.' },
      content: [{ type: 'application/json', schema: 'Trace', examples: { slow: traceExample } }],
    },
  ],
  codes: [...codes, 'trace_not_found'],
  curl: [{ label: 'By its id', source: `curl "$BASE/v1/traces/${theTrace}"` }],
};

export const traceOperations: readonly Operation[] = [list, show];
