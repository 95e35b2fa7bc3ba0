/** The same on Node's own HTTP server, each chunk hashed as it arrives, and none kept. */
import { createHash } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { Redis } from 'ioredis';
import { listen } from '../../../infra/process/listen.js';
import { rivalKey } from '../http/rival-key.js';

const redis = new Redis(process.argv[2] ?? '', { enableAutoPipelining: true });
const server = createServer((request, response) => {
  const [md5, sha256] = [createHash('md5'), createHash('sha256')];
  request.on('data', (chunk: Buffer) => {
    md5.update(chunk);
    sha256.update(chunk);
  });
  request.on('end', () => void answerFor(md5.digest('hex'), sha256.digest('hex'), response));
});
console.log(JSON.stringify({ msg: 'listening', url: await listen(server, '127.0.0.1', 0, 'rival') }));

async function answerFor(md5: string, sha256: string, response: ServerResponse): Promise<void> {
  const answer = await redis.getBuffer(rivalKey(md5));
  const headers = { 'content-type': 'application/json', 'content-length': answer?.length ?? 0, 'x-sha256': sha256 };
  response.writeHead(answer ? 200 : 404, headers).end(answer);
}
