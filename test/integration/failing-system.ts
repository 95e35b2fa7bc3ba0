import { createLatch, type Latch } from '../../backend/model/latch.js';
import { decodeImage } from '../../backend/model/preprocess.js';
import { simulatedManifest, simulatedModel } from '../../backend/model/simulated-model.js';
import { publishModels } from '../../contracts/catalogue.js';
import { register, type Registration } from '../../contracts/register.js';
import { defineScripts, type StreamClient } from '../../contracts/scripts/scripts.js';
import { picture } from '../pictures.js';
import type { Answer } from './access-failures.js';
import { servedBy, testSystem, type System } from './system.js';

/** Sends a request to an edge. */
export type Ask = (path: string, init: RequestInit, base: string) => Promise<Answer>;

/** A whole system in which every failure can be reached. */
export interface FailingSystem {
  readonly system: System;
  readonly stream: StreamClient;
  /** Holds the model `latched`. */
  readonly latch: Latch;
  readonly url: string;
  readonly metricsUrl: string;
  /** URL of an edge that wants keys. */
  readonly guarded: string;
  ask(path: string, init?: RequestInit, base?: string): Promise<Answer>;
  predict(
    model: string,
    body?: string | Uint8Array<ArrayBuffer>,
    headers?: Record<string, string>,
    base?: string,
  ): Promise<Answer>;
}

/** @param send does the asking: a test may look at every answer */
export async function failingSystem(send: Ask): Promise<FailingSystem> {
  const system = await testSystem();
  const stream = defineScripts(system.stream);
  const latch = createLatch();
  await serve(system, stream, latch);
  const { url, metricsUrl = '' } = await system.edge({ SAMPAN_MAX_BODY_BYTES: '65536', SAMPAN_MAX_PIXELS: '100000' });
  const { url: guarded } = await system.edge({ SAMPAN_AUTH: 'on' });
  const ask: FailingSystem['ask'] = (path, init = {}, base = url) => send(path, init, base);
  const predict: FailingSystem['predict'] = (model, body = picture('plain'), headers = {}, base = url) =>
    ask(`/v1/models/${model}/predict`, { method: 'POST', body, headers }, base);
  return { ...{ system, stream, latch, url, metricsUrl, guarded }, ask, predict };
}

async function serve(system: System, stream: StreamClient, latch: Latch): Promise<void> {
  const latched = simulatedModel({ latch, manifest: { name: 'latched' } });
  const failing = simulatedModel({ faults: { failRunOn: '#fails#' }, manifest: { name: 'failing' } });
  const aged = simulatedModel({ manifest: { name: 'aged' } });
  const plain = simulatedModel({ manifest: { name: 'plain' } });
  const decoding = { ...plain, decode: (image: Uint8Array) => decodeImage(image, plain.manifest.input, 1e8) };
  await system.backend(servedBy(latched, failing, aged, decoding));
  await publishModels(stream, [simulatedManifest({ name: 'idle' })]);
  const unserved = ['losing', 'later', 'broken', 'deadly'].map((name) => ({ name }));
  // The real consumer of `aged` holds version 1.
  await pretend(stream, 'by-hand', [...unserved, { name: 'aged', version: '2' }]);
}

/** Models that nobody serves, and a consumer that says it does: what becomes of their tasks is written by hand. */
export async function pretend(
  client: StreamClient,
  consumer: string,
  models: readonly { name: string; version?: string }[],
): Promise<void> {
  const manifests = models.map((changes) => simulatedManifest(changes));
  const registration: Registration = {
    ...{ v: 1, consumer, device: { kind: 'simulated', name: 'none' }, state: 'ready', startedAt: 0, lastReadAt: 0 },
    models: manifests.map(({ name, version }) => ({ model: name, version, tasksPerSecond: 0 })),
    memory: { residentBytes: 1 },
  };
  await publishModels(client, manifests);
  await register(client, registration, Date.now());
  await client.persist(`sampan:consumer:${consumer}`);
}
