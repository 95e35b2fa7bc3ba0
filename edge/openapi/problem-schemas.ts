import * as z from 'zod';
import { failures, isFailureCode, type FailureCode } from '../../contracts/failure.js';

export const failureCodes = Object.keys(failures).filter(isFailureCode);

/** What RFC 9457 and our table say of a failure. */
export const problemSchema = z.strictObject({
  type: z.string().regex(/^\/problems\/[a-z0-9_]+$/),
  title: z.string(),
  status: z.int().min(400).max(599),
  code: z.enum(failureCodes),
  detail: z.string(),
  retryable: z.boolean(),
});

/** What a problem that is an answer of its own tells beside that. */
const ofRequest = { requestId: z.string().min(1), traceId: z.string().regex(/^[0-9a-f]{32}$/) };

/** The answer that a request gets for a failure: all of it but the detail and the ids follows from the code. */
function problemAnswerSchema(code: FailureCode) {
  const { status, retryable, message } = failures[code];
  return z.strictObject({
    type: z.literal(`/problems/${code}`),
    title: z.literal(message),
    status: z.literal(status),
    code: z.literal(code),
    detail: z.string().min(1),
    retryable: z.literal(retryable),
    ...ofRequest,
    ...(code === 'model_not_found' ? { models: z.array(z.string()).meta({ description: modelsMean }) } : {}),
  });
}

const modelsMean = 'The models that the caller may ask.';

/** Name of the schema of a code's answer; '' gives what all of them begin with. */
export function problemName(code: FailureCode | ''): string {
  return `Problem_${code}`;
}

/** Schemas of the answers of all codes, by name. */
export function problemAnswerSchemas(): Readonly<Record<string, z.ZodType>> {
  return Object.fromEntries(failureCodes.map((code) => [problemName(code), problemAnswerSchema(code)]));
}
