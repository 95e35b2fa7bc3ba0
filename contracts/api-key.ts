import { Buffer } from 'node:buffer';
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import { apiKeysKey } from './keys.js';
import { grantSchema, type Grant } from './grant.js';
import type { StreamClient } from './scripts/scripts.js';

/**
 * A key as it is shown once: a prefix that secret scanners can look for, the id that it is stored under, and the secret,
 * of which only a hash is stored. 24 random bytes cannot be guessed, so a fast hash is enough.
 */
const keyPattern = /^sampan_([0-9a-f]{16})_([A-Za-z0-9_-]{32})$/;

const storedKeySchema = z.strictObject({
  v: z.literal(1),
  /** SHA-256 of the secret, hexadecimal. */
  secretHash: z.string().regex(/^[0-9a-f]{64}$/),
  grant: grantSchema,
  /** For people. */
  label: z.string().max(128),
  /** Milliseconds since the epoch. */
  createdAt: z.int(),
  expiresAt: z.int().optional(),
});

/** What is stored of a key. */
export type ApiKey = z.infer<typeof storedKeySchema>;

/** The parts of a key as a caller sends it. */
export interface PresentedKey {
  readonly id: string;
  readonly secret: string;
}

/** Takes a key apart; undefined where it is none. */
export function parseApiKey(text: string): PresentedKey | undefined {
  const [, id, secret] = keyPattern.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

export interface NewApiKey {
  readonly grant: Grant;
  readonly label: string;
  readonly expiresAt?: number | undefined;
}

/** Makes a key and stores it; the text that is returned is nowhere else. */
export async function createApiKey(client: StreamClient, { grant, label, expiresAt }: NewApiKey): Promise<string> {
  const id = randomBytes(8).toString('hex');
  const secret = randomBytes(24).toString('base64url');
  const stored = { v: 1, secretHash: hashOf(secret).toString('hex'), grant, label, createdAt: Date.now(), expiresAt };
  await client.hset(apiKeysKey, id, JSON.stringify(storedKeySchema.parse(stored)));
  return `sampan_${id}_${secret}`;
}

/** What is stored under an id; undefined where there is nothing, or nothing that this version reads. */
export async function readApiKey(client: StreamClient, id: string): Promise<ApiKey | undefined> {
  return readStored((await client.hget(apiKeysKey, id)) ?? '');
}

/** All keys by id, the oldest first. */
export async function listApiKeys(client: StreamClient): Promise<ReadonlyMap<string, ApiKey>> {
  const stored = Object.entries(await client.hgetall(apiKeysKey)).flatMap(([id, text]) => {
    const key = readStored(text);
    return key ? [[id, key] as const] : [];
  });
  return new Map(stored.sort(([, one], [, other]) => one.createdAt - other.createdAt));
}

/** Forgets a key; answers whether there was one. */
export async function revokeApiKey(client: StreamClient, id: string): Promise<boolean> {
  return (await client.hdel(apiKeysKey, id)) === 1;
}

/** Whether a secret is the one that was stored; takes as long whatever is wrong with it. */
export function isSecretOf(key: ApiKey, secret: string): boolean {
  return timingSafeEqual(hashOf(secret), Buffer.from(key.secretHash, 'hex'));
}

function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

function readStored(text: string): ApiKey | undefined {
  try {
    return storedKeySchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
