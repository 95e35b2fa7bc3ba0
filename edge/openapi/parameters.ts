import * as z from 'zod';
import { modelNameSchema } from '../../contracts/model.js';
import { md5Schema, sha256Schema } from '../../contracts/task.js';
import { allowedIdempotencyKey } from '../routes/accept.js';
import { traceQuerySchema } from '../routes/traces.js';
import { taskIdSchema } from './answer-schemas.js';
import { paramSchemas } from './request-schemas.js';
import { jsonSchemaOf, type JsonSchema } from './schemas.js';

interface Parameter {
  readonly in: 'path' | 'query' | 'header';
  /** Where it is not the key under which it stands here. */
  readonly name?: string;
  readonly schema: z.ZodType;
  readonly description: string;
  readonly example: unknown;
}

const inQuery = (schema: z.ZodType, example: number): Parameter => ({
  ...{ in: 'query', schema, example },
  description: schema.meta()?.description ?? '',
});

const parameters = {
  model: { in: 'path', schema: modelNameSchema, description: 'Name of a model.', example: 'coco' },
  md5: {
    in: 'path',
    schema: md5Schema,
    description: 'MD5 of the bytes of the picture.',
    example: 'adc1a9de176f41314ee697eef495124c',
  },
  id: {
    in: 'path',
    schema: taskIdSchema,
    description: 'Id of a task, as a 202 tells it.',
    example: 'coco.0.019ad4c2-5c1e-7d30-a1b2-4f2f0a8c9e11',
  },
  top: inQuery(paramSchemas.top, 3),
  minScore: inQuery(paramSchemas.minScore, 0.5),
  iou: inQuery(paramSchemas.iou, 0.45),
  maxDetections: inQuery(paramSchemas.maxDetections, 5),
  sha256: {
    in: 'query',
    schema: sha256Schema,
    description: 'SHA-256 of the same bytes; it may be left out only where the operator allows it.',
    example: '8ecae4b267b2d3169e06e00c7dee97097aa2a94635d45216f7732a5f4943cb51',
  },
  'x-timeout-ms': {
    in: 'header',
    schema: z.int().min(1),
    description:
      'Milliseconds from the moment that the body is there: how long the caller waits for its answer (10,000 by default, at most 60,000), or how long the task may take of a caller that comes back (ten minutes by default and at most). After that: 504, and the task is cancelled unless somebody else waits for it. Operators may set other bounds.',
    example: 5000,
  },
  'prefer-async': {
    in: 'header',
    name: 'prefer',
    schema: z.string(),
    description: '`respond-async` asks for a 202 and a place to come back to.',
    example: 'respond-async',
  },
  'prefer-wait': {
    in: 'header',
    name: 'prefer',
    schema: z.string(),
    description:
      '`wait=10` answers when the task has ended, or after ten seconds (60 at most); an end without a result is noticed within a second.',
    example: 'wait=10',
  },
  'idempotency-key': {
    in: 'header',
    schema: z.string().regex(allowedIdempotencyKey),
    description:
      'With `respond-async`: under one key a tenant has one task of a model, however often it is sent; another picture under it is refused.',
    example: 'photo-17',
  },
  'trace-model': {
    in: 'query',
    name: 'model',
    schema: traceQuerySchema.shape.model.unwrap(),
    description: 'Of requests to this model.',
    example: 'coco',
  },
  minMs: {
    in: 'query',
    schema: z.number().min(0),
    description: 'Of requests that took so many milliseconds at least; the slowest come first then.',
    example: 500,
  },
  status: {
    in: 'query',
    schema: traceQuerySchema.shape.status.unwrap(),
    description: 'Of requests that were answered with this status, or with one that begins with this digit.',
    example: '5',
  },
  since: {
    in: 'query',
    schema: traceQuerySchema.shape.since.unwrap(),
    description: 'Of requests that came since then.',
    example: '2027-06-30T09:30:00Z',
  },
  count: {
    in: 'query',
    schema: z.int().min(1).max(100),
    description: 'How many; 20 where it is left out.',
    example: 5,
  },
  'trace-id': {
    in: 'path',
    name: 'id',
    schema: z.string(),
    description: 'Of a trace, its request or its task.',
    example: '4bf92f3577b34da6a3ce929d0e0e4736',
  },
  'if-none-match': {
    in: 'header',
    schema: z.string(),
    description: 'An entity tag that the caller has the answer of.',
    example: 'W/"coco.0.019ad4c2-5c1e-7d30-a1b2-4f2f0a8c9e11"',
  },
  'x-request-id': {
    in: 'header',
    schema: z.string(),
    description: 'Taken over where it has 1 to 128 of A-Z, a-z, 0-9, dot, - and _; else a new one is made.',
    example: 'upload-4711',
  },
  traceparent: {
    in: 'header',
    schema: z.string(),
    description: "The caller's span (W3C Trace Context); taken over when well formed.",
    example: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  },
} satisfies Record<string, Parameter>;

export type ParameterName = keyof typeof parameters;

export const modelParams = ['top', 'minScore', 'iou', 'maxDetections'] as const satisfies readonly ParameterName[];
/** What every request may carry. */
export const commonParameters = ['x-request-id', 'traceparent'] as const satisfies readonly ParameterName[];

export interface ParameterObject {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description: string;
  readonly schema: JsonSchema;
  readonly example: unknown;
}

/** The document's `components/parameters`. */
export function componentParameters(): Readonly<Record<string, ParameterObject>> {
  const entries = Object.entries<Parameter>(parameters);
  return Object.fromEntries(entries.map(([key, parameter]) => [key, parameterObject(key, parameter)]));
}

function parameterObject(key: string, parameter: Parameter): ParameterObject {
  const { name = key, description, example } = parameter;
  const required = parameter.in === 'path';
  return { name, in: parameter.in, required, description, schema: jsonSchemaOf(parameter.schema), example };
}
