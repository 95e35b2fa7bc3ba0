import type { Operation } from '../operation.js';
import { batchOperation } from './batch.js';
import { lookupOperation, modelOperations } from './models.js';
import { predictOperation } from './predict.js';
import { serviceOperations } from './service.js';
import { taskOperations } from './tasks.js';
import { traceOperations } from './traces.js';

/** All that can be asked of an edge, in the order in which it is shown. */
export const operations: readonly Operation[] = [
  predictOperation,
  batchOperation,
  lookupOperation,
  ...taskOperations,
  ...modelOperations,
  ...traceOperations,
  ...serviceOperations,
];
