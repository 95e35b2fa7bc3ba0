import { keepSpans } from '../../contracts/kept-traces.js';
import { defineScripts } from '../../contracts/scripts/scripts.js';
import { connectCache, type ConnectionLogger } from './redis-connection.js';
import type { SpanKeeper } from './trace-store.js';

/** Keeps spans in the cache role, on a connection of its own: nothing that answers a request waits behind it. */
export interface OpenSpanKeeper extends SpanKeeper {
  close(): void;
}

/** @param name of the connection, such as `edge-traces` */
export function openSpanKeeper(cacheUrl: string, name: string, logger: ConnectionLogger): OpenSpanKeeper {
  const client = defineScripts(connectCache(cacheUrl, { name, logger }));
  return {
    keep: (spans) => keepSpans(client, spans),
    warn: (error) => logger.warn({ connection: name, error: String(error) }, 'spans were not kept'),
    close: () => client.disconnect(),
  };
}
