import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import sharp from 'sharp';
import { discardRest } from '../../edge/body/discard-rest.js';
import { testRedis } from '../redis.js';
import { bodyOf, edgeUnderTest, serveModels, toyManifest } from './edge-under-test.js';

const stream = await testRedis();
const client = new Redis(stream.url);
await serveModels(client, [toyManifest]);
client.disconnect();
const edge = await edgeUnderTest(stream.url);
const port = Number(new URL(edge.url).port);
const path = '/v1/models/toy/predict';
const fiftyMegabytes = 50 * 1024 * 1024;
const image = await sharp({ create: { width: 30, height: 20, channels: 3, background: 'red' } })
  .jpeg()
  .toBuffer();

async function open(): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

/** Reads until the first answer that is no 100 Continue is complete. */
async function readAnswer(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket) {
    text += String(chunk);
    if (isComplete(text)) return text;
  }
  throw new Error(`the connection ended after: ${text}`);
}

function isComplete(text: string): boolean {
  const [head = '', body = ''] = text.replace(/^HTTP\/1.1 100 Continue\r\n\r\n/, '').split('\r\n\r\n', 2);
  const length = /content-length: (\d+)/i.exec(head)?.[1];
  return length !== undefined && body.length >= Number(length);
}

/** Writes all of a body and only then looks for an answer, as simple clients do. */
async function writeAllThenRead(socket: Socket, head: string, body: Buffer): Promise<string> {
  socket.pause();
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.write(head);
    socket.write(body, () => resolve());
  });
  return readAnswer(socket);
}

test('row 26: fetch posts 50 MB and reads the 413', async () => {
  const answer = await fetch(`${edge.url}${path}`, { method: 'POST', body: new Uint8Array(fiftyMegabytes) });
  assert.equal(answer.status, 413);
  assert.match(await answer.text(), /"code":"body_too_large".*52428800/);
});

for (const connection of ['keep-alive', 'close']) {
  test(`row 26: a client that writes 50 MB before it reads gets the 413 (connection: ${connection})`, async () => {
    const socket = await open();
    const head = `POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: ${connection}\r\ncontent-length: ${fiftyMegabytes}\r\n\r\n`;
    const answer = await writeAllThenRead(socket, head, Buffer.alloc(fiftyMegabytes));
    assert.match(answer, /^HTTP\/1.1 413 /);
    socket.destroy();
  });

  test(`row 26: one that does not tell the length gets it too (connection: ${connection})`, async () => {
    const socket = await open();
    const head = `POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: ${connection}\r\ntransfer-encoding: chunked\r\n\r\n`;
    const size = Buffer.from(`${fiftyMegabytes.toString(16)}\r\n`);
    const answer = await writeAllThenRead(
      socket,
      head,
      Buffer.concat([size, Buffer.alloc(fiftyMegabytes), Buffer.from('\r\n0\r\n\r\n')]),
    );
    assert.match(answer, /^HTTP\/1.1 413 /);
    socket.destroy();
  });

  test(`an unknown model is told also behind 50 MB (connection: ${connection})`, async () => {
    const socket = await open();
    const head = `POST /v1/models/none/predict HTTP/1.1\r\nhost: x\r\nconnection: ${connection}\r\ncontent-length: ${fiftyMegabytes}\r\n\r\n`;
    assert.match(await writeAllThenRead(socket, head, Buffer.alloc(fiftyMegabytes)), /^HTTP\/1.1 404 /);
    socket.destroy();
  });
}

test('a client on a slow line, which goes on sending for a while after the answer, gets it too', async () => {
  const socket = await open();
  socket.pause();
  const pieces = 24;
  const piece = Buffer.alloc(64 * 1024);
  socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${pieces * piece.length}\r\n\r\n`);
  for (let sent = 0; sent < pieces; sent += 1) {
    await new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.write(piece, resolve);
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.match(await readAnswer(socket), /^HTTP\/1.1 413 /);
  socket.destroy();
});

test('the connection can be used again after a body was thrown away', async () => {
  const socket = await open();
  const head = `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n`;
  assert.match(await writeAllThenRead(socket, head, Buffer.alloc(1_000_000)), /^HTTP\/1.1 413 /);
  socket.destroy();
  const again = await open();
  again.write(head);
  again.write(Buffer.alloc(1_000_000));
  again.write('GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  let text = '';
  for await (const chunk of again) text += String(chunk);
  assert.match(text, /^HTTP\/1.1 413 [^]*HTTP\/1.1 200 /);
});

test('a client that asks first is told 413 without having to send', async () => {
  const socket = await open();
  socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: ${fiftyMegabytes}\r\n\r\n`);
  assert.match(await readAnswer(socket), /^HTTP\/1.1 413 /);
  socket.destroy();
});

test('a client that asks first is told to go on when its request is in order', async () => {
  const asking = request({
    ...{ port, host: '127.0.0.1', path, method: 'POST' },
    headers: { expect: '100-continue', 'content-length': image.length },
  });
  asking.flushHeaders();
  await once(asking, 'continue');
  asking.end(image);
  const [answer] = await once(asking, 'response');
  assert.equal(answer.statusCode, 200);
  answer.resume();
});

test('a body that trickles in, and one without a length, arrive whole', async () => {
  const socket = await open();
  socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${image.length}\r\n\r\n`);
  for (const byte of image.subarray(0, 50)) {
    socket.write(Buffer.of(byte));
    await new Promise(setImmediate);
  }
  socket.write(image.subarray(50));
  assert.match(await readAnswer(socket), /^HTTP\/1.1 200 /);
  socket.destroy();
  const chunks = new ReadableStream({
    start(controller) {
      controller.enqueue(bodyOf(image.subarray(0, 10)));
      controller.enqueue(bodyOf(image.subarray(10)));
      controller.close();
    },
  });
  const answer = await fetch(`${edge.url}${path}`, { method: 'POST', body: chunks, duplex: 'half' });
  assert.equal(answer.status, 200);
});

test('a client that never stops sending is cut off', { timeout: 20_000 }, async () => {
  edge.server.once('request', (incoming) => void discardRest(incoming, { maxBytes: 5_000_000, maxMs: 60_000 }));
  const socket = await open();
  socket.on('error', () => undefined);
  socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n`);
  const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(0x100000), Buffer.from('\r\n')]);
  const send = () => {
    if (!socket.destroyed) socket.write(chunk, send);
  };
  send();
  await new Promise((resolve) => socket.once('close', resolve));
});
