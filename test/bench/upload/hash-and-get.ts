/** The route that upload hits are measured by: Hono reads the body, makes both digests, and answers what one GET finds. */
import { createHash } from 'node:crypto';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { Redis } from 'ioredis';
import { rivalKey } from '../http/rival-key.js';

const redis = new Redis(process.argv[2] ?? '', { enableAutoPipelining: true });
const app = new Hono();
app.post('/v1/models/:model/predict', async (c) => {
  const body = new Uint8Array(await c.req.arrayBuffer());
  const md5 = createHash('md5').update(body).digest('hex');
  const sha256 = createHash('sha256').update(body).digest('hex');
  const answer = await redis.getBuffer(rivalKey(md5));
  return answer
    ? new Response(answer, { headers: { 'content-type': 'application/json', 'x-sha256': sha256 } })
    : c.notFound();
});
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, (at) => {
  console.log(JSON.stringify({ msg: 'listening', url: `http://127.0.0.1:${String(at.port)}` }));
});
