import * as z from 'zod';
import { Failure } from './failure.js';
import type { ModelManifest, TaskKind } from './model.js';

/** A number, written as one: JSON gives numbers, a query or a form gives their decimal spelling. */
const numeric = z.union(
  [
    z.number(),
    z
      .string()
      .regex(/^-?\d{1,15}(\.\d{1,15})?$/)
      .transform(Number),
  ],
  'expected a decimal number such as 0.5 or 3',
);
export const unitIntervalSchema = z.number().min(0).max(1);
export const countTo1000Schema = z.int().min(1).max(1000);
const unitInterval = numeric.pipe(unitIntervalSchema);
const countTo1000 = numeric.pipe(countTo1000Schema);

/** Every parameter a request may carry, per task; unknown ones are refused by name. */
const paramsSchemas = {
  classify: z.strictObject({ top: countTo1000.optional(), minScore: unitInterval.optional() }),
  tag: z.strictObject({ minScore: unitInterval.optional() }),
  detect: z.strictObject({
    minScore: unitInterval.optional(),
    iou: unitInterval.optional(),
    maxDetections: countTo1000.optional(),
  }),
  caption: z.strictObject({}),
  embed: z.strictObject({}),
} satisfies Record<TaskKind, z.ZodType>;

/** The parameters of one task with every default filled in; absent where the task does not know them. */
export interface Params {
  readonly top?: number | undefined;
  readonly minScore?: number | undefined;
  readonly iou?: number | undefined;
  readonly maxDetections?: number | undefined;
}

/**
 * Reads a request's parameters (strings from the query or a form, numbers from JSON) for a model.
 * @returns every parameter of the task, defaults from the manifest filled in
 * @throws Failure invalid_params, naming what is wrong and what is allowed
 */
export function parseParams(manifest: ModelManifest, given: Readonly<Record<string, unknown>>): Params {
  return Object.keys(given).length === 0 ? defaultParams(manifest) : readParams(manifest, given);
}

const defaults = new WeakMap<ModelManifest, Params>();

/** Most requests give none; a manifest's own are made once. */
function defaultParams(manifest: ModelManifest): Params {
  const known = defaults.get(manifest);
  if (known) return known;
  const made = Object.freeze(readParams(manifest, {}));
  defaults.set(manifest, made);
  return made;
}

function readParams(manifest: ModelManifest, given: Readonly<Record<string, unknown>>): Params {
  const schema = paramsSchemas[manifest.task];
  const allowed = Object.keys(schema.shape);
  const unknown = Object.keys(given).filter((name) => !allowed.includes(name));
  if (unknown.length > 0) {
    const list = allowed.length > 0 ? `allowed are ${allowed.join(', ')}` : 'this task takes none';
    throw new Failure(
      'invalid_params',
      `unknown parameter ${unknown.map((name) => `"${name.slice(0, 64)}"`).join(', ')}; ${list}`,
    );
  }
  const parsed = schema.safeParse(given);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new Failure('invalid_params', issue ? `${issue.path.join('.')}: ${issue.message}` : 'not readable');
  }
  return withDefaults(allowed, parsed.data, manifest);
}

function withDefaults(allowed: readonly string[], given: Params, manifest: ModelManifest): Params {
  const merged: Params = { ...manifest.thresholds, ...definedOnly(given) };
  return Object.fromEntries(
    Object.entries(merged).filter(([name, value]) => allowed.includes(name) && value !== undefined),
  );
}

function definedOnly(params: Params): Params {
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined));
}

/** One spelling for equal parameters: sorted `name=value` pairs joined by `&`; part of the cache key. */
export function canonicalParams(params: Params): string {
  return Object.entries(numbersOf(params))
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join('&');
}

/** The parameters that a task has, as they travel with it. */
export function numbersOf({ top, minScore, iou, maxDetections }: Params): Record<string, number> {
  const numbers: Record<string, number> = {};
  if (top !== undefined) numbers['top'] = top;
  if (minScore !== undefined) numbers['minScore'] = minScore;
  if (iou !== undefined) numbers['iou'] = iou;
  if (maxDetections !== undefined) numbers['maxDetections'] = maxDetections;
  return numbers;
}
