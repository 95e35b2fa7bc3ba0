import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { simulatedModel } from '../../../backend/model/simulated-model.js';
import { picture } from '../../pictures.js';
import type { BatchItem } from '../batches.js';
import { startPart } from '../processes.js';
import { servedBy, testSystem } from '../system.js';

const system = await testSystem();
const model = 'large';
await system.backend(servedBy(simulatedModel({ manifest: { name: model } })));
const mebibyte = 1024 * 1024;
const count = 100;

const forms: Record<string, { type: string; before: (image: Buffer) => Buffer[]; last: string }> = {
  'a form': {
    type: 'multipart/form-data; boundary=b',
    before: (image) => [
      Buffer.from('--b\r\ncontent-disposition: form-data; name="image"; filename="large.jpg"\r\n\r\n'),
      image,
      Buffer.from('\r\n'),
    ],
    last: '--b--\r\n',
  },
  lines: {
    type: 'application/x-ndjson',
    before: (image) => [Buffer.from(`{"image":"${image.toString('base64')}"}\n`)],
    last: '',
  },
};

/** Of a process, in bytes: now, and at its most. */
function memoryOf(pid: number): { readonly now: number; readonly most: number } {
  const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
  const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]);
  return { now: kilobytes('VmRSS') * 1024, most: kilobytes('VmHWM') * 1024 };
}

async function send(url: string, name: string, images: number, bytes: number): Promise<readonly BatchItem[]> {
  const form = forms[name];
  assert.ok(form);
  function* body() {
    for (let i = 0; i < images; i++) yield* form?.before(picture(`${name}-${String(i)}-${String(bytes)}`, bytes)) ?? [];
    yield Buffer.from(form?.last ?? '');
  }
  const headers = { 'content-type': form.type, 'x-timeout-ms': '60000' };
  const sending = request(`${url}/v1/models/${model}/batch`, { method: 'POST', headers });
  Readable.from(body()).pipe(sending);
  const [answer] = (await once(sending, 'response')) as [Readable];
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as BatchItem[];
}

for (const name of Object.keys(forms)) {
  test(`a hundred pictures of 5 MB, sent as ${name}, take an edge less than 100 MB more`, async (t) => {
    const edge = startPart('edge.mjs', { ...system.env, SAMPAN_LOG_LEVEL: 'info' });
    const { url } = await edge.line((line) => line['msg'] === 'listening');
    assert.ok(typeof url === 'string' && edge.child.pid !== undefined);
    // An edge at work has filled its young generation before.
    await send(url, name, 1000, 20_000);
    const { now } = memoryOf(edge.child.pid);
    const items = await send(url, name, count, 5 * mebibyte);
    assert.deepEqual(
      items.map(({ status }) => status),
      Array(count).fill(200),
    );
    const more = memoryOf(edge.child.pid).most - now;
    assert.ok(more < 100e6, `${String(Math.round(more / mebibyte))} MiB more`);
    t.diagnostic(`${String(Math.round(more / mebibyte))} MiB more`);
    edge.child.kill('SIGTERM');
    await edge.exited;
  });
}
