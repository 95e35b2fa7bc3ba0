import { noParts } from '../../contracts/trace-parts.js';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';

export const traceSummaryExample = {
  ...{ traceId, start: '2027-06-30T09:30:00.000Z', ms: 512.4, status: '200', model: 'coco' },
  requestId: '019ad4c2-5c1d-7f00-8a3e-2b9c1d4e5f60',
};

const parts = { ...noParts, body: 2.1, admission: 3.3, queue: 431.2, decode: 31.4, device: 42.1, unexplained: 2.3 };

export const traceExample = {
  traceId,
  request: {
    ...{ model: 'coco', totalMs: 512.4, parts },
    verdict: {
      text: '84 % queue; queue took 431.2 ms, where 3.0 ms are usual',
      main: { part: 'queue', ms: 431.2, share: 0.84 },
      unusual: [{ part: 'queue', ms: 431.2, usualMs: 3 }],
      known: 214,
    },
  },
  spans: [
    {
      ...{ traceId, spanId: '00f067aa0ba902b7', parentSpanId: '', name: 'POST /v1/models/:model/predict' },
      ...{ kind: 'server', startNs: '1814347800000000000', endNs: '1814347800512400000' },
      ...{ service: 'sampan-edge', instance: '019ad4c2-0000-7000-8000-000000000000' },
      ...{ attributes: { 'http.response.status_code': 200 }, links: [], status: { code: 'unset', message: '' } },
    },
  ],
};
