import type { ModelManifest } from '../../contracts/model.js';
import { parseParams } from '../../contracts/params.js';
import { mayAsk, permitModel } from '../access/authorise.js';
import type { EdgeDeps } from '../deps.js';
import { findModel } from '../models.js';
import type { ModelDetails, ModelList, ModelSummary } from '../openapi/model-schemas.js';
import type { Handle } from '../request.js';
import { respondJson } from '../respond.js';
import { identify } from './identify.js';

/** `GET /v1/models`: what can be asked here. */
export function listModels(deps: EdgeDeps): Handle {
  return async (c) => {
    const principal = await identify(deps, c);
    if (deps.models.catalogue().size === 0) await deps.models.refresh();
    const known = [...deps.models.catalogue().values()].filter(({ name }) => mayAsk(principal, name));
    const models = known.map((manifest) => summary(deps, manifest));
    return respondJson(c, 200, { models } satisfies ModelList);
  };
}

/** `GET /v1/models/:model`: all that is known about one model, and who serves it. */
export function showModel(deps: EdgeDeps): Handle {
  return async (c) => {
    permitModel(await identify(deps, c), c.req.param('model') ?? '');
    const manifest = await findModel(deps.models, c.req.param('model') ?? '');
    c.get('request').model = manifest.name;
    const { sha256, input, outputs, labels, thresholds, batch, licence, origin } = manifest;
    const consumers = deps.models.consumers(manifest).map(({ consumer, device, models }) => ({
      consumer,
      device,
      tasksPerSecond: models.find(({ model }) => model === manifest.name)?.tasksPerSecond ?? 0,
    }));
    const details: ModelDetails = {
      ...summary(deps, manifest),
      ...{ sha256, input, outputs, labels, thresholds, batch, licence, origin, consumers },
    };
    return respondJson(c, 200, details);
  };
}

function summary(deps: EdgeDeps, manifest: ModelManifest): ModelSummary {
  const { name, version, task, description, input, labels } = manifest;
  return {
    ...{ name, version, task, description },
    input: { width: input.width, height: input.height },
    labelCount: labels.length,
    params: parseParams(manifest, {}),
    liveConsumers: deps.models.consumers(manifest).length,
  };
}
