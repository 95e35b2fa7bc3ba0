import * as z from 'zod';

/** How a weight's elements are stored; the last two are the compact forms that the TFJS converter writes. */
export type WeightForm = 'float32' | 'int32' | 'uint8' | 'float16';

/** A constant of the graph as the package stores it: little-endian elements, row by row. */
export interface Weight {
  readonly name: string;
  readonly shape: readonly number[];
  readonly form: WeightForm;
  /** Starts at an aligned address, so that wider typed arrays may be laid over it. */
  readonly data: Uint8Array;
  /** What uint8 elements stand for: `element · scale + min`. */
  readonly quantization?: { readonly scale: number; readonly min: number };
}

const listSchema = z.object({ i: z.array(z.coerce.number()).optional(), s: z.array(z.string()).optional() });
const attributeSchema = z.object({
  i: z.coerce.number().optional(),
  f: z.number().optional(),
  b: z.boolean().optional(),
  s: z.string().optional(),
  list: listSchema.optional(),
});
const nodeSchema = z.object({
  name: z.string(),
  op: z.string(),
  input: z.array(z.string()).default([]),
  attr: z.record(z.string(), attributeSchema).default({}),
});
export type GraphNode = z.infer<typeof nodeSchema>;

const quantizationSchema = z.object({ dtype: z.string(), scale: z.number().optional(), min: z.number().optional() });
const weightSpecSchema = z.object({
  name: z.string(),
  shape: z.array(z.number()),
  dtype: z.string(),
  quantization: quantizationSchema.optional(),
});
type WeightSpec = z.infer<typeof weightSpecSchema>;

const modelSchema = z.object({
  format: z.literal('graph-model'),
  modelTopology: z.object({ node: z.array(nodeSchema) }),
  weightsManifest: z.array(z.object({ paths: z.array(z.string()), weights: z.array(weightSpecSchema) })),
});

export interface TfjsGraph {
  readonly nodes: ReadonlyMap<string, GraphNode>;
  readonly weights: ReadonlyMap<string, Weight>;
}

/**
 * Reads a TFJS graph model.
 * @param model the parsed model.json
 * @param shard answers the bytes of one weight file, named as in the manifest
 */
export function readTfjsGraph(model: unknown, shard: (path: string) => Uint8Array): TfjsGraph {
  const { modelTopology, weightsManifest } = modelSchema.parse(model);
  const weights = new Map<string, Weight>();
  for (const group of weightsManifest) {
    const bytes = Buffer.concat(group.paths.map(shard));
    let offset = 0;
    for (const spec of group.weights) {
      const weight = readWeight(spec, bytes, offset);
      offset += weight.data.byteLength;
      weights.set(spec.name, weight);
    }
    if (offset !== bytes.length) {
      throw new Error(`the weight files hold ${String(bytes.length)} bytes, their list accounts for ${String(offset)}`);
    }
  }
  return { nodes: new Map(modelTopology.node.map((node) => [node.name, node])), weights };
}

function readWeight(spec: WeightSpec, bytes: Buffer, offset: number): Weight {
  const form = formOf(spec);
  const length = elementCount(spec.shape) * bytesPerElement[form];
  // A fresh copy is aligned; a view into the file need not be.
  const data = Uint8Array.from(bytes.subarray(offset, offset + length));
  if (data.length !== length) throw new Error(`the weight files end within ${spec.name}`);
  const { scale, min } = spec.quantization ?? {};
  if (form !== 'uint8') return { name: spec.name, shape: spec.shape, form, data };
  if (scale === undefined || min === undefined)
    throw new Error(`weight ${spec.name} is quantized without scale or min`);
  return { name: spec.name, shape: spec.shape, form, data, quantization: { scale, min } };
}

function formOf(spec: WeightSpec): WeightForm {
  const stored = spec.quantization?.dtype ?? spec.dtype;
  if (stored === 'float32' || stored === 'int32' || stored === 'uint8' || stored === 'float16') return stored;
  throw new Error(`weight ${spec.name} is stored as ${stored}, which is not converted here`);
}

export const bytesPerElement: Readonly<Record<WeightForm, number>> = { float32: 4, int32: 4, uint8: 1, float16: 2 };

export function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** Strings of a graph's JSON are base64. */
export function textAttribute(node: GraphNode, name: string): string | undefined {
  const encoded = node.attr[name]?.s;
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('latin1');
}

export function textsAttribute(node: GraphNode, name: string): string[] {
  return (node.attr[name]?.list?.s ?? []).map((encoded) => Buffer.from(encoded, 'base64').toString('latin1'));
}

export function integersAttribute(node: GraphNode, name: string): readonly number[] {
  return node.attr[name]?.list?.i ?? [];
}
