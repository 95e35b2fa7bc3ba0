import { itemAt } from './layout.js';
import type { GraphBuilder, Operand, Tensor } from './graph-builder.js';
import { operators } from './ops/operators.js';
import type { TfjsGraph } from './tfjs-graph.js';

/**
 * Converts what the wanted outputs of a TFJS graph depend on, and nothing else.
 * @param inputs what stands for the graph's placeholders, by name
 * @param wanted the names of nodes whose first output is wanted
 * @returns those outputs, in order
 * @throws Error naming the operator that is not known, the placeholder without an input, or what an operator cannot do
 */
export function convertGraph(
  graph: TfjsGraph,
  inputs: Readonly<Record<string, Tensor>>,
  wanted: readonly string[],
  builder: GraphBuilder,
): Tensor[] {
  const converted = new Map<string, readonly Operand[]>(
    Object.entries(inputs).map(([name, tensor]) => [name, [tensor]]),
  );

  const outputsOf = (name: string): readonly Operand[] => {
    const known = converted.get(name);
    if (known !== undefined) return known;
    const outputs = convertNode(graph, name, operandOf, builder);
    converted.set(name, outputs);
    return outputs;
  };
  const operandOf = (reference: string): Operand => {
    const [name = '', output = '0'] = reference.split(':');
    return itemAt(outputsOf(name), Number(output));
  };

  return wanted.map((name) => {
    const operand = operandOf(name);
    if (operand.kind !== 'tensor') throw new Error(`output ${name} is a constant`);
    return operand;
  });
}

function convertNode(
  graph: TfjsGraph,
  name: string,
  operandOf: (reference: string) => Operand,
  builder: GraphBuilder,
): readonly Operand[] {
  const weight = graph.weights.get(name);
  if (weight !== undefined) return [{ kind: 'constant', weight }];
  const node = graph.nodes.get(name);
  if (node === undefined) throw new Error(`the graph has no node ${name}`);
  if (node.op === 'Placeholder') throw new Error(`nothing was given for the placeholder ${name}`);
  const operator = operators.get(node.op);
  if (operator === undefined) throw new Error(`the operator ${node.op} (node ${name}) is not converted here`);
  // References with a caret only order the execution.
  return operator(node, node.input.filter((reference) => !reference.startsWith('^')).map(operandOf), builder);
}
