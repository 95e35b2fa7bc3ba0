import { Failure } from '../contracts/failure.js';
import { RunLimitError } from './run-limit.js';

/** Whose fault an exception is; what is done about it follows from that alone. */
export type Fault =
  /** The image's: its task fails at once. */
  | 'input'
  /** The model's on some image of the batch: the images are run one by one, so that only the guilty one fails. */
  | 'model'
  /** The device had too little memory: the batch is halved and run again. */
  | 'device_memory'
  /** The device is lost for this process: nothing more is read, and the process ends. */
  | 'device'
  /** Redis's: tried again. */
  | 'redis';

const outOfMemory =
  /out of memory|failed to allocate memory|smaller than requested bytes|_ALLOC_FAILED|bad_alloc|bad allocation|CUDA failure 2:/i;

/** Errors of a CUDA context stay with the process that met them, whichever call is told; so does a lost WebGPU device. */
const lost =
  /CUDA failure (?!2:)\d+|CUDA error \d+|device (?:is |was )?lost|worker thread of the device|device is closed/i;

/** Every exception is classed here; the first line that fits decides, and what fits none is the model's. */
const signs: readonly (readonly [Fault, (error: Error) => boolean])[] = [
  ['input', (error) => error instanceof Failure],
  ['device', (error) => error instanceof RunLimitError],
  ['redis', (error) => error.name === 'ReplyError' || error.name === 'MaxRetriesPerRequestError'],
  ['redis', ({ message }) => /^Connection is closed|^Stream isn't writeable|^Socket timeout/.test(message)],
  ['device_memory', ({ message }) => outOfMemory.test(message)],
  ['device', ({ message }) => lost.test(message)],
];

/** Whose fault an exception is. */
export function faultOf(error: unknown): Fault {
  if (!(error instanceof Error)) return 'model';
  return signs.find(([, fits]) => fits(error))?.[0] ?? 'model';
}
