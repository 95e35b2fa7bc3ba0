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

const known = ['v', 'id', 'timeLeft', 'trace', 'spec'] as const;
type Field = (typeof known)[number];
const isKnown = (name: string): name is Field => known.some((field) => field === name);

/**
 * Reads the fields of an entry as Redis gives them: name, value, name, value, …
 * A missing, unknown or malformed field is the failure task_unreadable, naming it.
 */
export function decodeEntry(fields: readonly string[]): Decoded<Entry> {
  const values = new Map<Field, string>();
  if (fields.length % 2 !== 0) return unreadable('a field has no value');
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] ?? '';
    if (!isKnown(name)) return unreadable(`unknown field "${name.slice(0, 64)}"`);
    if (values.has(name)) return unreadable(`field "${name}" comes twice`);
    values.set(name, fields[i + 1] ?? '');
  }
  const missing = known.find((name) => !values.has(name));
  if (missing !== undefined) return unreadable(`missing field "${missing}"`);
  if (values.get('v') !== String(taskFormat)) return unreadable(`format "${values.get('v')?.slice(0, 16)}"`);
  const taskId = values.get('id') ?? '';
  const timeLeft = values.get('timeLeft') ?? '';
  if (!parseTaskId(taskId)) return unreadable('field "id" is not a task id');
  if (!/^\d{1,15}$/.test(timeLeft)) return unreadable('field "timeLeft" is not a time');
  const spec = decodeSpec(values.get('spec') ?? '');
  if (!spec.ok) return spec;
  const traceparent = values.get('trace') ?? '';
  return { ok: true, value: { taskId, timeLeftMs: Number(timeLeft), spec: spec.value, traceparent } };
}

/** The task id in fields that are otherwise unreadable, so that its waiters can still be told. */
export function taskIdIn(fields: readonly string[]): string | undefined {
  const at = fields.findIndex((name, i) => i % 2 === 0 && name === 'id');
  const id = at < 0 ? undefined : fields[at + 1];
  return id !== undefined && parseTaskId(id) ? id : undefined;
}

/** The spec of a task as its entry holds it. */
export function encodeSpec(spec: TaskSpec): string {
  return JSON.stringify(spec);
}

/** Reads what encodeSpec wrote; anything else is the failure task_unreadable. */
function decodeSpec(text: string): Decoded<TaskSpec> {
  try {
    const parsed = taskSpecSchema.safeParse(JSON.parse(text));
    if (parsed.success) return { ok: true, value: parsed.data };
    const issue = parsed.error.issues[0];
    return unreadable(`spec: ${issue ? `${issue.path.join('.')} ${issue.message}` : 'not readable'}`);
  } catch {
    return unreadable('spec: not JSON');
  }
}

function unreadable(what: string): { readonly ok: false; readonly failure: Failure } {
  return { ok: false, failure: new Failure('task_unreadable', what) };
}
