import { Redis } from 'ioredis';
import { defineScripts } from '../../contracts/scripts/scripts.js';

/**
 * Does something with the stream role, whose URL is in REDIS_URL, and closes the connection.
 * @throws Error saying that the server is not there
 */
export async function connected<Result>(work: (client: Redis) => Promise<Result>): Promise<Result> {
  return connectedTo(process.env['REDIS_URL'], work);
}

/** The same with the cache role, whose URL is in CACHE_REDIS_URL where it has a server of its own. */
export async function connectedToCache<Result>(work: (client: Redis) => Promise<Result>): Promise<Result> {
  return connectedTo(process.env['CACHE_REDIS_URL'] ?? process.env['REDIS_URL'], work);
}

async function connectedTo<Result>(url: string | undefined, work: (client: Redis) => Promise<Result>): Promise<Result> {
  if (url === undefined || url === '') throw new Error('REDIS_URL is required, such as redis://127.0.0.1:6379');
  const client = new Redis(url, { lazyConnect: true, retryStrategy: null, maxRetriesPerRequest: 0 });
  let trouble: unknown;
  client.on('error', (error) => (trouble = error));
  try {
    await client.connect();
    return await work(defineScripts(client));
  } catch (error) {
    // What the library rejects with says only that the connection is closed.
    throw trouble ?? error;
  } finally {
    client.disconnect();
  }
}
