import { Buffer } from 'node:buffer';
import * as z from 'zod';
import { Failure } from './failure.js';
import { parseTaskId, taskFormat, taskSpecSchema, type TaskSpec } from './task.js';

/** What an entry of a task stream says: all that a consumer needs but the image. */
export interface Entry {
  readonly taskId: string;
  readonly spec: TaskSpec;
  /** Milliseconds that were left until the deadline when the task was admitted; joins may have moved it since. */
  readonly timeLeftMs: number;
  readonly traceparent: string;
}

export type Decoded<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure };

/** What the format and the id say already is not said again: of a backlog, every byte counts a hundred thousand times. */
const storedSpecSchema = taskSpecSchema.omit({ v: true, model: true, sha256: true }).extend({
  sha256: z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'a SHA-256 is 43 characters of base64url here'),
});

const entrySchema = z.strictObject({
  v: z.literal(taskFormat),
  id: z.string().refine((id) => parseTaskId(id) !== undefined, 'is not a task id'),
  timeLeftMs: z.int().nonnegative(),
  trace: z.string().max(64),
  spec: storedSpecSchema,
});

/** The one field of an entry. */
const field = 'task';

/**
 * An entry as its stream keeps it, in the field `task`.
 * @param sha256 that of the spec, by shortSha256, where the caller needs it too
 */
export function encodeEntry(
  { taskId, spec, timeLeftMs, traceparent }: Entry,
  sha256 = shortSha256(spec.sha256),
): string {
  const { v, version, md5, params, scope, tenant, tier, lane, bytes } = spec;
  const stored = { version, md5, sha256, params, scope, tenant, tier, lane, bytes };
  return JSON.stringify({ v, id: taskId, timeLeftMs, trace: traceparent, spec: stored } satisfies Stored);
}

/** A SHA-256 as entries and ledgers hold it: base64url is a third shorter than hexadecimal. */
export function shortSha256(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64url');
}

type Stored = z.input<typeof entrySchema>;

/**
 * Reads the fields of an entry as Redis gives them: name, value, name, value, …
 * What is missing, unknown or malformed is the failure task_unreadable, naming it.
 */
export function decodeEntry(fields: readonly string[]): Decoded<Entry> {
  const unknown = fields.find((name, i) => i % 2 === 0 && name !== field);
  if (unknown !== undefined) return unreadable(`unknown field "${unknown.slice(0, 64)}"`);
  const [, text] = fields;
  if (text === undefined) return unreadable(`missing field "${field}"`);
  if (fields.length > 2) return unreadable(`more than one field "${field}"`);
  const parsed = entrySchema.safeParse(parseJson(text));
  if (!parsed.success) return unreadable(describe(parsed.error));
  const { id, timeLeftMs, trace } = parsed.data;
  return { ok: true, value: { taskId: id, spec: specOf(id, parsed.data.spec), timeLeftMs, traceparent: trace } };
}

function specOf(id: string, stored: z.infer<typeof storedSpecSchema>): TaskSpec {
  const { version, md5, params, scope, tenant, tier, lane, bytes } = stored;
  const model = id.slice(0, id.indexOf('.'));
  const sha256 = Buffer.from(stored.sha256, 'base64url').toString('hex');
  return { v: taskFormat, model, version, md5, sha256, params, scope, tenant, tier, lane, bytes };
}

const withId = z.object({ id: z.string() });

/** The task id in an entry that is otherwise unreadable, so that its waiters can still be told. */
export function taskIdIn(fields: readonly string[]): string | undefined {
  const at = fields.findIndex((name, i) => i % 2 === 0 && name === field);
  const found = withId.safeParse(parseJson(fields[at + 1] ?? ''));
  return at >= 0 && found.success && parseTaskId(found.data.id) ? found.data.id : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function describe(error: z.ZodError): string {
  const [issue] = error.issues;
  return issue ? `${issue.path.join('.') || field}: ${issue.message}`.slice(0, 200) : 'not readable';
}

function unreadable(what: string): { readonly ok: false; readonly failure: Failure } {
  return { ok: false, failure: new Failure('task_unreadable', what) };
}
