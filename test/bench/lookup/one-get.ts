/** The route that lookups are measured by: Hono, one GET of Redis, and its bytes as the answer. Arguments: URL, port. */
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { Redis } from 'ioredis';
import { rivalKey } from '../http/rival-key.js';

const [url = '', port = '0'] = process.argv.slice(2);
const redis = new Redis(url, { enableAutoPipelining: true });
const headers = { 'content-type': 'application/json' };
const app = new Hono();
app.get('/v1/models/:model/results/:md5', async (c) => {
  const answer = await redis.getBuffer(rivalKey(c.req.param('md5')));
  return answer ? new Response(answer, { headers }) : c.notFound();
});
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(port) }, (at) => {
  console.log(JSON.stringify({ msg: 'listening', url: `http://127.0.0.1:${String(at.port)}` }));
});
