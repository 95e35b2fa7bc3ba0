import { knownIntegers } from '../constants.js';
import { channelsFirst, itemAt } from '../layout.js';
import { derive, stored } from '../graph-builder.js';
import { tensorInput, type Operator } from './operator.js';

/** Scales instead of sizes leave the batch open. */
export const resizeBilinear: Operator = (node, inputs, builder) => {
  const source = stored(builder, tensorInput(node, inputs, 0), channelsFirst);
  const [height = 0, width = 0] = knownIntegers(inputs[1], `the size of ${node.name}`);
  const scales = builder.floats([1, 1, height / itemAt(source.shape, 1), width / itemAt(source.shape, 2)]);
  const shape = [itemAt(source.shape, 0), height, width, itemAt(source.shape, 3)];
  const coordinates =
    node.attr['align_corners']?.b === true
      ? 'align_corners'
      : node.attr['half_pixel_centers']?.b === true
        ? 'half_pixel'
        : 'asymmetric';
  const attributes = { mode: 'linear', coordinate_transformation_mode: coordinates };
  return [derive(builder, 'Resize', [source.name, '', scales], { shape, layout: channelsFirst }, attributes)];
};
