/** Node's own HTTP server with one answer to everything, which is an argument. */
import { createServer } from 'node:http';
import { listen } from '../../../infra/process/listen.js';

const answer = Buffer.from(process.argv[2] ?? '');
const headers = { 'content-type': 'application/json', 'content-length': answer.length };
const server = createServer((_request, response) => response.writeHead(200, headers).end(answer));
console.log(JSON.stringify({ msg: 'listening', url: await listen(server, '127.0.0.1', 0, 'rival') }));
