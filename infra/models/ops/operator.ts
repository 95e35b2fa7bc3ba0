import { itemAt } from '../layout.js';
import type { GraphBuilder, Operand, Tensor } from '../graph-builder.js';
import type { GraphNode, Weight } from '../tfjs-graph.js';

/** Converts one node of the source graph; answers one operand per output. */
export type Operator = (node: GraphNode, inputs: readonly Operand[], builder: GraphBuilder) => readonly Operand[];

/** An input that is computed when the model runs. */
export function tensorInput(node: GraphNode, inputs: readonly Operand[], index: number): Tensor {
  const input = itemAt(inputs, index);
  if (input.kind !== 'tensor') throw new Error(`input ${String(index)} of ${node.op} ${node.name} is a constant`);
  return input;
}

/** An input that is known when converting. */
export function constantInput(node: GraphNode, inputs: readonly Operand[], index: number): Weight {
  const input = itemAt(inputs, index);
  if (input.kind !== 'constant') throw new Error(`input ${String(index)} of ${node.op} ${node.name} is not a constant`);
  return input.weight;
}
