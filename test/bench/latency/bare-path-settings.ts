import * as z from 'zod';

/** Which model the worker of the bare path runs, and on how many threads. */
export const barePathSettings = z.strictObject({ modelDir: z.string(), model: z.string(), threads: z.int().min(1) });
