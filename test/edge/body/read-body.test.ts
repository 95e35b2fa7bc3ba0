import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { test } from 'node:test';
import { Hono } from 'hono';
import { Failure } from '../../../contracts/failure.js';
import { readBody } from '../../../edge/body/read-body.js';
import type { EdgeEnv } from '../../../edge/request.js';

/** The body as a runtime without Node's streams would hand it on. */
async function read(
  body: RequestInit['body'],
  maxBytes: number,
  headers: Record<string, string> = {},
): Promise<string> {
  const app = new Hono<EdgeEnv>();
  app.post('/', async (c) => {
    try {
      return c.text((await readBody(c, maxBytes)).toString('hex'));
    } catch (error) {
      return c.text(error instanceof Failure ? error.code : String(error));
    }
  });
  return (await app.request('/', { method: 'POST', body: body ?? null, headers, duplex: 'half' })).text();
}

function streamOf(chunks: readonly string[], end: 'close' | 'error'): ReadableStream {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new Uint8Array(Buffer.from(chunk, 'hex')));
      if (end === 'close') controller.close();
      else controller.error(new Error('gone'));
    },
  });
}

test('a body is read whole from web streams', async () => {
  assert.equal(await read(streamOf(['00ff', '01'], 'close'), 3), '00ff01');
  assert.equal(await read(null, 3), '');
});

test('a body beyond the limit is refused, announced or not', async () => {
  assert.equal(await read(streamOf(['00ff', '0102'], 'close'), 3), 'body_too_large');
  assert.equal(await read(new Uint8Array(4), 3, { 'content-length': '4' }), 'body_too_large');
});

test('a body that breaks off is incomplete', async () => {
  assert.equal(await read(streamOf([], 'error'), 3), 'body_incomplete');
});
