import type { ModelManifest } from '../../../contracts/model.js';
import type { Params } from '../../../contracts/params.js';
import type { Detection } from '../../../contracts/prediction.js';
import { leastScore, roundedScore } from './scores.js';

/** Corners in pixels, left-top and right-bottom. */
export type Corners = readonly [x1: number, y1: number, x2: number, y2: number];

/** What a detector says about one image. */
export interface DetectorOutput {
  /** One score per candidate and label, candidate by candidate. */
  readonly scores: Float32Array;
  /** Four corner coordinates per candidate, in pixels of the model's input. */
  readonly boxes: Float32Array;
}

interface Candidate {
  readonly label: number;
  readonly score: number;
  readonly corners: Corners;
}

/**
 * Turns candidates into detections: those that reach `minScore`, without the weaker of two that overlap by more than
 * `iou` within a label, best first, at most `maxDetections`, in pixels of the upright original.
 * @param original size of the upright original in pixels
 */
export function detect(
  output: DetectorOutput,
  { labels, input }: Pick<ModelManifest, 'labels' | 'input'>,
  original: { readonly width: number; readonly height: number },
  { minScore = 0.4, iou = 0.5, maxDetections = 100 }: Params,
): Detection[] {
  const kept = suppressOverlaps(candidatesOver(output, labels.length, minScore), iou, maxDetections);
  const place = placement(input, original);
  return kept.map(({ label, score, corners }) => ({
    label: labels[label] ?? '',
    score: roundedScore(score),
    box: place(corners),
  }));
}

function candidatesOver({ scores, boxes }: DetectorOutput, labelCount: number, minScore: number): Candidate[] {
  const found: Candidate[] = [];
  const least = leastScore(minScore);
  for (let index = 0; index < scores.length; index++) {
    const score = scores[index] ?? 0;
    if (score < least) continue;
    const [x1 = 0, y1 = 0, x2 = 0, y2 = 0] = boxes.subarray(4 * Math.floor(index / labelCount));
    found.push({ label: index % labelCount, score, corners: [x1, y1, x2, y2] });
  }
  return found;
}

/** Greedy non-maximum suppression: the best candidate stays and removes what it overlaps, then the next best. */
function suppressOverlaps(candidates: Candidate[], iou: number, most: number): Candidate[] {
  const kept: Candidate[] = [];
  for (const candidate of candidates.sort((one, other) => other.score - one.score)) {
    if (kept.length === most) break;
    const covered = kept.some(
      (better) => better.label === candidate.label && overlap(better.corners, candidate.corners) > iou,
    );
    if (!covered) kept.push(candidate);
  }
  return kept;
}

/** Intersection over union of two boxes, 0 to 1. */
export function overlap(one: Corners, other: Corners): number {
  const width = Math.min(one[2], other[2]) - Math.max(one[0], other[0]);
  const height = Math.min(one[3], other[3]) - Math.max(one[1], other[1]);
  if (width <= 0 || height <= 0) return 0;
  const shared = width * height;
  return shared / (area(one) + area(other) - shared);
}

function area([x1, y1, x2, y2]: Corners): number {
  return (x2 - x1) * (y2 - y1);
}

type Box = Detection['box'];

/** From corners in the model's input to [x, y, width, height] in the original, clamped to it, in tenths of a pixel. */
function placement(
  input: ModelManifest['input'],
  original: { readonly width: number; readonly height: number },
): (corners: Corners) => Box {
  const [scaleX, scaleY] = scales(input, original);
  // What a cover cut off, or a contain filled up, is shared equally by both sides.
  const marginX = (input.width - original.width * scaleX) / 2;
  const marginY = (input.height - original.height * scaleY) / 2;
  const inside = (value: number, size: number): number => Math.min(Math.max(value, 0), size);
  return ([x1, y1, x2, y2]) => {
    const left = inside((x1 - marginX) / scaleX, original.width);
    const top = inside((y1 - marginY) / scaleY, original.height);
    const right = inside((x2 - marginX) / scaleX, original.width);
    const bottom = inside((y2 - marginY) / scaleY, original.height);
    return [tenths(left), tenths(top), tenths(tenths(right) - tenths(left)), tenths(tenths(bottom) - tenths(top))];
  };
}

/** Pixels of the input per pixel of the original. */
function scales(
  input: ModelManifest['input'],
  original: { readonly width: number; readonly height: number },
): [number, number] {
  const x = input.width / original.width;
  const y = input.height / original.height;
  if (input.fit === 'fill') return [x, y];
  const both = input.fit === 'cover' ? Math.max(x, y) : Math.min(x, y);
  return [both, both];
}

function tenths(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}
