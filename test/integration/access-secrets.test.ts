import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, test } from 'node:test';
import { inspect } from 'node:util';
import { createApiKey } from '../../contracts/api-key.js';
import { startOtlpReceiver } from '../../infra/trace/otlp-receiver.js';
import { picture } from '../pictures.js';
import { testRedisPair } from '../redis.js';
import { startPart } from './processes.js';

const jwtSecret = 'a secret of thirty-two characters';
const receiver = await startOtlpReceiver();
after(() => receiver.close());
const redis = await testRedisPair();
const client = redis.stream.client();

test('no key, token or secret stands in anything that an edge writes: log, traces, metrics, answers, Redis', async () => {
  const edge = startPart('edge.mjs', {
    ...{ REDIS_URL: redis.stream.url, CACHE_REDIS_URL: redis.cache.url, PORT: '0', METRICS_PORT: '0' },
    ...{ SAMPAN_AUTH: 'on', SAMPAN_JWT_SECRET: jwtSecret, SAMPAN_LOG_LEVEL: 'trace' },
    ...{ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_TRACES_SAMPLER: 'always_on', OTEL_BSP_SCHEDULE_DELAY: '20' },
  });
  const { url, metrics } = await edge.line(({ msg }) => msg === 'listening');
  const grant = { tenant: 'acme', tier: 'free', permissions: ['predict' as const] };
  const key = await createApiKey(client, { grant, label: 'a label' });
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const unsigned = `${part({ alg: 'HS256' })}.${part({ sub: 'me', tenant: 'acme', exp: 4e9 })}`;
  const signature = createHmac('sha256', jwtSecret).update(unsigned).digest('base64url');
  const wrongSecret = 'W'.repeat(32);
  const wrongKey = `sampan_${'0'.repeat(16)}_${wrongSecret}`;
  const shown: Record<string, string>[] = [
    ...[{ 'x-api-key': key }, { 'x-api-key': wrongKey }, { authorization: `Bearer ${key}` }],
    ...[{ authorization: `Bearer ${unsigned}.${signature}` }, { authorization: `Bearer ${unsigned}.${wrongSecret}` }],
    ...[{ authorization: `Basic ${wrongSecret}` }, { 'x-api-key': key, authorization: `Bearer ${key}` }, {}],
  ];
  const answers: string[] = [];
  const traceIds: string[] = [];
  for (const headers of shown) {
    for (const path of ['toy/predict', `toy/predict?api_key=${key}`, `toy/predict?token=${wrongSecret}`]) {
      const response = await fetch(`${String(url)}/v1/models/${path}`, { method: 'POST', body: picture('p'), headers });
      answers.push(await response.text(), ...[...response.headers].flat());
      traceIds.push(response.headers.get('traceresponse')?.split('-')[1] ?? '');
    }
  }
  const spans = await receiver.waitFor(
    (all) => traceIds.every((id) => all.some(({ traceId }) => traceId === id)),
    15_000,
  );
  answers.push(await (await fetch(String(metrics))).text());
  edge.child.kill('SIGTERM');
  await edge.exited;
  const stored = [];
  for (const name of await client.keys('*')) {
    // DUMP holds the bytes of any type.
    stored.push(name, (await client.dumpBuffer(name)).toString('latin1'));
  }
  const written = [
    edge.output(),
    inspect(spans, { depth: null, maxArrayLength: null, maxStringLength: null }),
    answers.join('\n'),
    stored.join('\n'),
  ];
  assert.ok(written.every((text) => text.length > 100) && edge.log.length > shown.length, 'little was written at all');
  const secretOfKey = key.split('_').slice(2).join('_');
  for (const secret of [secretOfKey, jwtSecret, wrongSecret, signature]) {
    assert.deepEqual(
      written.map((text) => text.includes(secret)),
      [false, false, false, false],
      secret,
    );
  }
});
