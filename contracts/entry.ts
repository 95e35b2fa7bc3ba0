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

const entrySchema = z.strictObject({
  v: z.literal(taskFormat),
  id: z.string().refine((id) => parseTaskId(id) !== undefined, 'is not a task id'),
  timeLeftMs: z.int().nonnegative(),
  trace: z.string().max(64),
  spec: taskSpecSchema,
});

/** The one field of an entry. */
const field = 'task';

/** An entry as its stream keeps it, in the field `task`. */
export function encodeEntry({ taskId, spec, timeLeftMs, traceparent }: Entry): string {
  return JSON.stringify({ v: taskFormat, id: taskId, timeLeftMs, trace: traceparent, spec } satisfies Stored);
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
  const { id, spec, timeLeftMs, trace } = parsed.data;
  return { ok: true, value: { taskId: id, spec, timeLeftMs, traceparent: trace } };
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
