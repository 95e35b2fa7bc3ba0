import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simulatedLabel, simulatedManifest } from '../../backend/model/simulated-model.js';
import { publishModels } from '../../contracts/catalogue.js';
import { partitionKeys } from '../../contracts/keys.js';
import { picture } from '../pictures.js';
import { isReady, startPart } from './processes.js';
import { testSystem, until } from './system.js';

/** Requests whose callers come back, while what serves them dies. */
const system = await testSystem();
const { stream } = system;

interface Shown {
  readonly id: string;
  readonly state: string;
  readonly answer?: { readonly predictions: readonly { readonly label: string }[] };
}

const backendOf = (model: string, consumer: string) =>
  startPart('backend/main.js', {
    ...{ ...system.env, SAMPAN_LOG_LEVEL: 'info', SAMPAN_CONSUMER: consumer, SAMPAN_LEASE_MS: '1000' },
    SAMPAN_SIMULATED_DEVICE: JSON.stringify({ models: [model], baseMs: 100 }),
  });

async function submit(url: string, model: string, image: string): Promise<Shown> {
  const response = await fetch(`${url}/v1/models/${model}/predict`, {
    ...{ method: 'POST', body: picture(image) },
    headers: { prefer: 'respond-async' },
  });
  assert.equal(response.status, 202);
  return (await response.json()) as Shown;
}

const show = async (url: string, id: string, headers: Record<string, string> = {}) =>
  fetch(`${url}/v1/tasks/${id}`, { headers });

test('of tasks that were accepted every one comes to its end, by whichever edge it is asked for, though a consumer and its edge die', async () => {
  const model = 'outliving';
  const first = backendOf(model, 'first');
  await first.line(isReady);
  const accepting = startPart('edge.mjs', { ...system.env, SAMPAN_LOG_LEVEL: 'info' });
  const url = String((await accepting.line(({ msg }) => msg === 'listening'))['url']);
  const images = Array.from({ length: 40 }, (_, i) => `outliving-${String(i)}`);
  const accepted = await Promise.all(images.map((image) => submit(url, model, image)));
  await until(
    () => stream.xpending(partitionKeys(model).tasks('normal'), 'consumers'),
    ([pending]) => Number(pending) > 0,
  );
  first.child.kill('SIGKILL');
  accepting.child.kill('SIGKILL');
  const second = backendOf(model, 'second');
  await second.line(isReady);
  const other = (await system.edge()).url;
  const ends = await Promise.all(
    accepted.map(async ({ id }) => (await (await show(other, id, { prefer: 'wait=30' })).json()) as Shown),
  );
  assert.deepEqual(
    ends.map(({ state, answer }) => [state, answer?.predictions[0]?.label]),
    images.map((image) => ['succeeded', simulatedLabel(picture(image))]),
  );
});

test('after a flush nothing is left to wait for: what was accepted is not found, and says so at once', async () => {
  const model = 'forgotten';
  await publishModels(stream, [simulatedManifest({ name: model })]);
  const backend = backendOf(model, 'slow');
  await backend.line(isReady);
  const { url } = await system.edge();
  backend.child.kill('SIGSTOP');
  const { id } = await submit(url, model, 'forgotten');
  const waiting = show(url, id, { prefer: 'wait=2' });
  const following = await show(url, `${id}/events`);
  await stream.flushall();
  for (const answer of [await waiting, await show(url, id)]) {
    assert.deepEqual([answer.status, ((await answer.json()) as { code: string }).code], [404, 'task_not_found']);
  }
  const events = await following.text();
  assert.match(events, /^event: state\n/);
  backend.child.kill('SIGCONT');
});
