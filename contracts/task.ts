import * as z from 'zod';
import { uuidv7 } from './uuid.js';
import { modelNameSchema, modelVersionSchema } from './model.js';

/** The form in which tasks are written; a reader refuses any other with a coded failure. */
export const taskFormat = 1;

export const laneSchema = z.enum(['high', 'normal', 'low']);
export type Lane = z.infer<typeof laneSchema>;

/** Tenants and scopes stand in keys and in lines that scripts split at spaces. */
export const tenantSchema = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/);
/** Which limits hold for a caller. */
export const tierSchema = z.string().regex(/^[a-z0-9-]{1,32}$/, 'a tier is 1 to 32 of a-z, 0-9 and -');
/** A tenant's own, or, with ~, one that several share by choice: no tenant can have its name. */
export const scopeSchema = z.string().regex(/^~?[A-Za-z0-9_-]{1,64}$/);
export const md5Schema = z.string().regex(/^[0-9a-f]{32}$/, 'an MD5 is 32 lower-case hexadecimal digits');
export const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/, 'a SHA-256 is 64 lower-case hexadecimal digits');

/** What never changes about a task while it lives; written once by the edge, read by consumers. */
export const taskSpecSchema = z.strictObject({
  v: z.literal(taskFormat),
  model: modelNameSchema,
  version: modelVersionSchema,
  md5: md5Schema,
  sha256: sha256Schema,
  /** Every parameter of the model's task, defaults filled in. */
  params: z.record(z.string(), z.number()),
  /** Who may be answered from the cache with this task's result. */
  scope: scopeSchema,
  tenant: tenantSchema,
  tier: tierSchema,
  lane: laneSchema,
  /** Length of the encoded image. */
  bytes: z.int().positive(),
});
export type TaskSpec = z.infer<typeof taskSpecSchema>;

export const taskIdPattern = /^([a-z0-9-]{1,63})\.(\d{1,4})\.([0-9a-f-]{36})$/;

export interface TaskIdParts {
  readonly model: string;
  readonly partition: number;
}

/** A new task id, `<model>.<partition>.<uuidv7>`: its slot in a cluster can be found from it. */
export function newTaskId(model: string, partition = 0): string {
  return `${model}.${partition}.${uuidv7()}`;
}

/** The model and partition a task id names, or undefined where it is not a task id. */
export function parseTaskId(id: string): TaskIdParts | undefined {
  const match = taskIdPattern.exec(id);
  return match?.[1] !== undefined ? { model: match[1], partition: Number(match[2]) } : undefined;
}

/**
 * Names equal work: same scope, model, version, parameters and MD5. It is the cache key without its prefix and the
 * marker of work in flight; whoever matches it still compares the SHA-256.
 */
export function workKey(
  { scope, model, version, md5 }: Pick<TaskSpec, 'scope' | 'model' | 'version' | 'md5'>,
  canonicalParams: string,
): string {
  return `${scope}:${model}:${version}:${canonicalParams}:${md5}`;
}
