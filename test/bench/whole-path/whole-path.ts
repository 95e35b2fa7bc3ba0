import { findModels } from '../../../backend/model/load.js';
import { preparedModels } from '../../prepared-models.js';
import type { Bench, BenchOptions, Measured } from '../bench.js';
import { startGenerator } from '../http/start-generator.js';
import { figures } from '../rounds.js';
import { spread } from '../statistics.js';
import { withSurroundings } from '../surroundings.js';
import { withBenchPhotos } from './bench-photos.js';
import { measureCapacity } from './capacity.js';
import { chooseSettings } from './choose-settings.js';
import { measureOverload } from './overload.js';
import type { Material } from './parties.js';
import { reportOf } from './report.js';
import { sideNames, type Sizes } from './task.js';

const fullSize: Sizes = { images: 360, callers: 32, overloadSeconds: 8 };
const quickSize: Sizes = { images: 48, callers: 32, overloadSeconds: 1 };

export const wholePath: Bench = {
  name: 'whole-path',
  about:
    'Real photos through a real model (nsfw, MobileNetV2 at 224) on the CPU: the shipped edge, Redis and backend, beside ' +
    "a bare loop of the backend's own decoding and session, and beside the in-process queue that articles build.",
  run: async (options) => {
    const [modelDir, model] = [await preparedModels(), 'nsfw'];
    const version = (await findModels(modelDir, [model]))[0]?.version ?? '';
    return withBenchPhotos((files) => measureAll({ modelDir, model, version, files }, options));
  },
};

async function measureAll(material: Material, options: BenchOptions): Promise<Measured> {
  const sizes = options.quick ? quickSize : fullSize;
  const generator = startGenerator();
  try {
    const chosen = await chooseSettings(generator, material, sizes, options);
    const task = { material, sizes, options, chosen };
    return await withSurroundings(async (here) => {
      const { rounds, servers } = await measureCapacity(here, generator, task);
      const perSecond = spread(figures(rounds, sideNames.queue, 'perSecond')).median;
      const overload = await measureOverload(here, generator, { ...task, servers, perSecond });
      return reportOf([...rounds, ...overload], task, perSecond);
    });
  } finally {
    await generator.stop();
  }
}
