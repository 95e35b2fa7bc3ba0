import * as z from 'zod';
import { answerSchema, batchAnswerSchema, batchItemSchema, taskViewSchema } from './answer-schemas.js';
import { modelDetailsSchema, modelListSchema, modelSummarySchema } from './model-schemas.js';
import { problemAnswerSchemas, problemSchema } from './problem-schemas.js';
import { batchFormSchema, formUploadSchema, jsonUploadSchema, paramsSchema } from './request-schemas.js';
import {
  documentSchema,
  eventStreamSchema,
  linesSchema,
  liveSchema,
  notReadySchema,
  pageSchema,
  readySchema,
} from './service-schemas.js';
import { traceListSchema, traceSchema } from './trace-schemas.js';

const named = {
  Answer: answerSchema,
  Task: taskViewSchema,
  Problem: problemSchema,
  BatchItem: batchItemSchema,
  BatchAnswer: batchAnswerSchema,
  Model: modelSummarySchema,
  Models: modelListSchema,
  ModelDetails: modelDetailsSchema,
  Params: paramsSchema,
  JsonUpload: jsonUploadSchema,
  FormUpload: formUploadSchema,
  BatchForm: batchFormSchema,
  Traces: traceListSchema,
  Trace: traceSchema,
  Live: liveSchema,
  Ready: readySchema,
  NotReady: notReadySchema,
  Document: documentSchema,
  Page: pageSchema,
  Events: eventStreamSchema,
  Lines: linesSchema,
};

/** Name of a schema that operations refer to. */
export type SchemaName = keyof typeof named;

export type JsonSchema = Readonly<Record<string, unknown>>;

/** The document's `components/schemas`. */
export function componentSchemas(): Readonly<Record<string, JsonSchema>> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries({ ...named, ...problemAnswerSchemas() })) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { ...options, uri: schemaRef });
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, bare(schema)]));
}

/** One schema by itself, for a parameter or a header. */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  return bare(z.toJSONSchema(schema, options));
}

export function schemaRef(name: string): string {
  return `#/components/schemas/${name}`;
}

const options = {
  target: 'draft-2020-12',
  override: (made: { jsonSchema: z.core.JSONSchema.BaseSchema }) => tidy(made.jsonSchema),
} as const;

/** Leaves out what says nothing more: bounds of all safe integers, how a date is spelled, a format that is an encoding. */
function tidy(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.format === 'date-time') delete schema.pattern;
  if (schema.format === schema.contentEncoding) delete schema.format;
}

/** A part of a document has neither an address nor a dialect of its own. */
function bare(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name !== '$schema' && name !== '$id'));
}
