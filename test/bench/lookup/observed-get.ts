/**
 * The route with one GET, plus what people add before they put it before others: an id, a span, a histogram and a
 * counter (OpenTelemetry), a line of a log (pino), a bound on the GET. Arguments: URL.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { startTelemetry } from '../../../infra/process/telemetry.js';
import { rivalKey } from '../http/rival-key.js';

const redis = new Redis(process.argv[2] ?? '', { enableAutoPipelining: true });
const { tracer, meter } = await startTelemetry({
  ...{ service: 'rival', instance: 'rival', host: '127.0.0.1', metricsPort: 0, env: process.env },
});
const latency = meter.createHistogram('latency_seconds');
const lookups = meter.createCounter('lookups');
const log = pino(pino.destination({ dest: 1, sync: false, minLength: 4096 }));
const limitMs = 1000;

const app = new Hono();
app.get('/v1/models/:model/results/:md5', async (c) => {
  const startedAt = performance.now();
  const [requestId, model] = [randomUUID(), c.req.param('model')];
  const span = tracer.startSpan('GET /v1/models/:model/results/:md5');
  const { traceId, spanId } = span.spanContext();
  const bound = new AbortController();
  const answer = await Promise.race([
    redis.getBuffer(rivalKey(c.req.param('md5'))),
    sleep(limitMs, null, { signal: bound.signal }).catch(() => null),
  ]);
  bound.abort();
  const found = answer ? 'hit' : 'miss';
  const [status, ms] = [answer ? 200 : 404, performance.now() - startedAt];
  lookups.add(1, { model, found });
  latency.record(ms / 1000, { endpoint: '/v1/models/:model/results/:md5', status, cache: found });
  log.info({ requestId, traceId, model, status, found, ms }, 'request');
  span.end();
  const headers = {
    'content-type': 'application/json',
    'x-request-id': requestId,
    traceresponse: `00-${traceId}-${spanId}-00`,
  };
  return new Response(answer, { status, headers });
});
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, (at) => {
  console.log(JSON.stringify({ msg: 'listening', url: `http://127.0.0.1:${String(at.port)}` }));
});
