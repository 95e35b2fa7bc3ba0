/** The same route of Hono without Redis: the answer is an argument. */
import { serve } from '@hono/node-server';
import { Hono } from 'hono';

const answer = Buffer.from(process.argv[2] ?? '');
const headers = { 'content-type': 'application/json' };
const app = new Hono();
app.get('/v1/models/:model/results/:md5', () => new Response(answer, { headers }));
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, (at) => {
  console.log(JSON.stringify({ msg: 'listening', url: `http://127.0.0.1:${String(at.port)}` }));
});
