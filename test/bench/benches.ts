import { batchPolicy } from './batch-policy/batch-policy.js';
import type { Bench } from './bench.js';
import { coldStart } from './cold-start/cold-start.js';
import { crossing } from './crossing/crossing.js';
import { decode } from './decode/decode.js';
import { device } from './device/device.js';
import { growth } from './growth/growth.js';
import { imagePlace } from './image-place/image-place.js';
import { latency } from './latency/latency.js';
import { lookup } from './lookup/lookup.js';
import { scaleOut } from './scale-out/scale-out.js';
import { soak } from './soak/soak.js';
import { tracing } from './tracing/tracing.js';
import { unique } from './unique/unique.js';
import { upload } from './upload/upload.js';
import { wholePath } from './whole-path/whole-path.js';

/** All there are, in the order in which they run. */
export const benches: readonly Bench[] = [
  ...[lookup, upload, crossing, imagePlace, wholePath, latency, decode],
  ...[batchPolicy, scaleOut, growth, unique, tracing, coldStart, soak, device],
];
