import { execFile, spawn } from 'node:child_process';
import { cpus } from 'node:os';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** What the device is, for people: name and driver, or that nobody tells. */
export async function deviceFacts(device: 'cpu' | 'cuda' | 'webgpu', card: string): Promise<string> {
  if (device === 'cpu') return `${String(cpus().length)} × ${cpus()[0]?.model.trim() ?? 'unknown CPU'}`;
  try {
    const query = ['--query-gpu=name,driver_version,memory.total', '--format=csv,noheader', '-i', card];
    const [name = '', driver = '', memory = ''] = (await run('nvidia-smi', query)).stdout.trim().split(', ');
    return `${name}, driver ${driver}, ${memory}`;
  } catch {
    return 'a device that nvidia-smi does not tell about';
  }
}

/** Follows how busy nvidia-smi says that a card is; `end` answers the mean in percent, undefined where it is not told. */
export function watchCard(card: string): { end(): Promise<number | undefined> } {
  const query = ['--query-gpu=utilization.gpu', '--format=csv,noheader,nounits', '-i', card, '-lms', '250'];
  const child = spawn('nvidia-smi', query, { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('close', () => resolve());
  });
  const readings: number[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (/^\d+$/.test(line.trim())) readings.push(Number(line));
  });
  return {
    end: async () => {
      child.kill('SIGKILL');
      await ended;
      return readings.length === 0 ? undefined : readings.reduce((sum, one) => sum + one, 0) / readings.length;
    },
  };
}
