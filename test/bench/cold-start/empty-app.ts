/** A Hono app that knows one path, on the server that the edge uses. Argument: port. */
import { serve } from '@hono/node-server';
import { Hono } from 'hono';

const app = new Hono();
app.get('/healthz', (c) => c.json({ live: true }));
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(process.argv[2]) });
