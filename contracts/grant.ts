import * as z from 'zod';
import { modelNameSchema } from './model.js';
import { tenantSchema, tierSchema } from './task.js';

/** What a caller may do: ask models, look after its tasks, or look after the system. */
export const permissionSchema = z.enum(['predict', 'tasks', 'ops']);
export type Permission = z.infer<typeof permissionSchema>;

/** Limits of one caller; what is left out is not limited. */
export const limitsSchema = z.strictObject({
  /** Pictures a second, in the long run. */
  perSecond: z.number().min(0.0001).max(1_000_000).optional(),
  /** Pictures that may come at once, before the rate holds; as many as come in a second where it is left out. */
  burst: z.int().min(1).max(1_000_000).optional(),
  /** Pictures a day, in UTC. */
  perDay: z.int().min(1).max(1_000_000_000).optional(),
  /** Requests that may be under way at a time. */
  atOnce: z.int().min(1).max(1_000_000).optional(),
});
export type Limits = z.infer<typeof limitsSchema>;

/** Whoever is let in without credentials has these. */
const ownNames = ['anonymous', 'shared'];

/** What a key or a token says of its holder. */
export const grantSchema = z.strictObject({
  tenant: tenantSchema.refine((name) => !ownNames.includes(name), 'is a name of the system'),
  tier: tierSchema,
  permissions: z.array(permissionSchema).min(1),
  models: z.array(modelNameSchema).min(1).optional(),
  /** The tenant's own scope where it is left out. */
  scope: tenantSchema.optional(),
  limits: limitsSchema.optional(),
});
export type Grant = z.infer<typeof grantSchema>;
