import type { Logger } from 'pino';
import type { BackendConfig } from '../config.js';
import type { MemorySource } from './memory-source.js';
import { openNvidiaSmi } from './nvidia-smi.js';
import { smiDevice } from './nvidia-smi-line.js';
import { memoryLimit, processMemory } from './process-memory.js';

/** Where the memory that a backend has to live in is looked up: the card's, or this process's own. */
export function openMemorySource(config: BackendConfig, log: Logger): MemorySource {
  const now = () => performance.now();
  if (config.device === 'cuda' && !config.simulatedDevice) {
    const device = smiDevice(config.deviceIndex, config.cudaVisibleDevices);
    return openNvidiaSmi({ device, log, now, random: Math.random });
  }
  const { bytes, from } = memoryLimit({ configuredBytes: config.memoryBytes, processes: config.processes });
  log.info({ limitBytes: bytes, from }, "the process's memory is watched");
  return processMemory({ limitBytes: bytes, now });
}
