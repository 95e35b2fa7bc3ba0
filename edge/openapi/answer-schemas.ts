import * as z from 'zod';
import { modelNameSchema, modelVersionSchema, type TaskKind } from '../../contracts/model.js';
import {
  captionPredictionsSchema,
  classifyPredictionsSchema,
  detectPredictionsSchema,
  embedPredictionsSchema,
  tagPredictionsSchema,
} from '../../contracts/prediction.js';
import { timingSchema } from '../../contracts/result.js';
import { taskIdPattern } from '../../contracts/task.js';
import { taskStateSchema } from '../../contracts/task-state.js';
import { problemSchema } from './problem-schemas.js';

export const taskIdSchema = z.string().regex(taskIdPattern);

function answerOf<Kind extends TaskKind, Predictions extends z.ZodType>(task: Kind, predictions: Predictions) {
  return z.strictObject({
    id: taskIdSchema.meta({ description: 'The task that made this answer.' }),
    model: modelNameSchema,
    version: modelVersionSchema,
    task: z.literal(task),
    cache: z.enum(['hit', 'miss', 'joined']),
    predictions,
    timing: timingSchema,
  });
}

/** What a model says about one picture; the task decides the form of the predictions. */
export const answerSchema = z.discriminatedUnion('task', [
  answerOf('classify', classifyPredictionsSchema),
  answerOf('tag', tagPredictionsSchema),
  answerOf('detect', detectPredictionsSchema),
  answerOf('caption', captionPredictionsSchema),
  answerOf('embed', embedPredictionsSchema),
]);

const task = z.strictObject({ id: taskIdSchema, model: modelNameSchema });

const unfinishedTaskSchema = task.extend({
  state: taskStateSchema.extract(['waiting', 'pending']),
  deadline: z.iso.datetime().optional().meta({ description: "By the server's clock." }),
  position: z.int().min(1).optional().meta({
    description:
      '1 for the task that is next; an estimate where tasks overtake each other. Left out by 202 where the task was joined.',
  }),
  expectedWaitMs: z
    .int()
    .min(0)
    .optional()
    .meta({ description: 'Milliseconds, by what the consumers report; left out where none does.' }),
});
const succeededTaskSchema = task.extend({
  state: taskStateSchema.extract(['succeeded']),
  /** As a synchronous request would have been answered. */
  answer: answerSchema,
});
const failedTaskSchema = task.extend({ state: taskStateSchema.extract(['failed', 'expired']), problem: problemSchema });
const cancelledTaskSchema = task.extend({ state: taskStateSchema.extract(['cancelled']) });

/** A task as its caller sees it. */
export const taskViewSchema = z.discriminatedUnion('state', [
  unfinishedTaskSchema,
  succeededTaskSchema,
  failedTaskSchema,
  cancelledTaskSchema,
]);

export type UnfinishedTask = Readonly<z.infer<typeof unfinishedTaskSchema>>;

/** The same in code, where what a model said is never looked into. */
export type TaskView = Readonly<
  | UnfinishedTask
  | (Omit<z.infer<typeof succeededTaskSchema>, 'answer'> & { answer: unknown })
  | z.infer<typeof failedTaskSchema>
  | z.infer<typeof cancelledTaskSchema>
>;

const batchItem = z.strictObject({
  index: z.int().min(0).meta({ description: 'Place of the picture in the request, from 0.' }),
  status: z.int().min(200).max(599).meta({ description: 'The status that this picture alone would have had.' }),
  name: z.string().optional().meta({ description: "File name of a form's part." }),
});

/** What became of one picture of a batch. */
export const batchItemSchema = z.union([
  batchItem.extend({ answer: answerSchema }),
  batchItem.extend({ problem: problemSchema }),
]);
export const batchAnswerSchema = z.array(batchItemSchema);
