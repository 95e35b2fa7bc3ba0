import type { ModelManifest } from '../../contracts/model.js';
import { canonicalParams, parseParams } from '../../contracts/params.js';
import { workKey, type TaskSpec } from '../../contracts/task.js';
import { readUpload } from '../body/read-image.js';
import type { Crossed } from '../crossing.js';
import type { EdgeDeps } from '../deps.js';
import type { Digests } from '../digest.js';
import { readImageHeader } from '../image/image-header.js';
import { findServedModel } from '../models.js';
import { crossedAnswer, specOf } from '../picture.js';
import { preferencesFrom } from '../prefer.js';
import { mergeGiven, queryOf } from '../query.js';
import type { EdgeContext, Handle } from '../request.js';
import { respond } from '../respond.js';
import { accept, answerAccepted, openSubmission } from './accept.js';
import { identifyCaller } from './identify.js';
import { startStopwatch, type Stopwatch } from './stopwatch.js';
import { timeoutFrom, timeoutsOf } from './timeout.js';

/** `POST /v1/models/:model/predict`: from a picture to what the model says about it. */
export function predict(deps: EdgeDeps): Handle {
  return async (c) => {
    const watch = startStopwatch(deps.clock);
    const principal = await identifyCaller(deps, c, 'predict');
    const manifest = await findServedModel(deps.models, c.req.param('model') ?? '');
    const { respondAsync } = preferencesFrom(c.req.header('prefer'));
    const timeoutMs = timeoutFrom(c.req.header('x-timeout-ms'), timeoutsOf(deps.config, respondAsync));
    const { image, params, readDigests } = await readRequest(deps, c, manifest, watch);
    const deadline = deps.clock.now() + timeoutMs;
    const digests = digest(c, readDigests, watch);
    const spec = specOf(principal, manifest, params, digests, image.length);
    const work = workKey(spec, canonicalParams(params));
    const submission = respondAsync ? await openSubmission(deps, c, spec, manifest) : undefined;
    if (submission?.isKnown) return answerAccepted(deps, c, submission);
    const cached = await lookUp(deps, c, spec, work, watch);
    if (cached) return answerHit(c, cached.answer, watch);
    const { trace } = c.get('request');
    const order = { spec, work, image, inShare: respondAsync, timeLeftMs: deadline - deps.clock.now(), trace };
    if (submission) return accept(deps, c, order, submission);
    const crossed = await deps.cross({ ...order, signal: c.req.raw.signal });
    watch.lap('cross');
    return answerCrossed(c, manifest, crossed, watch);
  };
}

/** Reads the body and checks all that can be told without decoding the image. */
async function readRequest(deps: EdgeDeps, c: EdgeContext, manifest: ModelManifest, watch: Stopwatch) {
  const request = c.get('request');
  request.model = manifest.name;
  const query = queryOf(c.req.url);
  watch.skip();
  const { image, given, digests: readDigests } = await readUpload(deps, c);
  watch.lap('body');
  request.bytes = image.length;
  const params = parseParams(manifest, mergeGiven(query, given));
  const { width, height } = readImageHeader(image, deps.config.maxPixels);
  request.pixels = width * height;
  return { image, params, readDigests };
}

/** Of an image that was the body itself, all but the end of this was done while it arrived. */
function digest(c: EdgeContext, read: () => Digests, watch: Stopwatch): Digests {
  const { trace } = c.get('request');
  const span = trace.child('digest');
  watch.skip();
  const digests = read();
  watch.lap('digest');
  trace.endChild(span);
  return digests;
}

async function lookUp(deps: EdgeDeps, c: EdgeContext, spec: TaskSpec, work: string, watch: Stopwatch) {
  const request = c.get('request');
  const span = request.trace.child('cache lookup');
  watch.skip();
  const cached = await deps.cache.find(work, spec.sha256, spec.model);
  watch.lap('cache');
  request.trace.endChild(span);
  request.cache = cached ? 'hit' : 'miss';
  return cached;
}

function answerHit(c: EdgeContext, answer: Uint8Array, watch: Stopwatch): Response {
  return respond(c, 200, answer, {
    'content-type': 'application/json',
    'x-cache': 'hit',
    'server-timing': watch.serverTiming(),
  });
}

function answerCrossed(c: EdgeContext, manifest: ModelManifest, crossed: Crossed, watch: Stopwatch): Response {
  c.get('request').cache = crossed.cache;
  const { answer, timing } = crossedAnswer(manifest, crossed);
  watch.note('queue', timing.queueMs);
  watch.note('decode', timing.decodeMs);
  watch.note('batch', timing.batchWaitMs);
  watch.note('infer', timing.inferMs);
  return respond(c, 200, answer, {
    'content-type': 'application/json',
    'x-cache': crossed.cache,
    'server-timing': watch.serverTiming(),
  });
}
