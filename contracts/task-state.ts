import * as z from 'zod';

/** States of a task, as its caller sees them. */
export const taskStateSchema = z.enum(['waiting', 'pending', 'succeeded', 'failed', 'expired', 'cancelled']);
export type TaskState = z.infer<typeof taskStateSchema>;
