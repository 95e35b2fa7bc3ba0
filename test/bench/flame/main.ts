/**
 * `node dist/test/bench/flame/main.js FILE.cpuprofile OUT.svg TITLE [SECONDS]`: draws what `node --cpu-prof` recorded,
 * without its first seconds.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { drawFlame, frames, profileSchema } from './flame.js';

const [profile, out, title = '', seconds = '0'] = process.argv.slice(2);
if (profile === undefined || out === undefined) {
  console.error('which profile, and where to?');
  process.exit(2);
}
const parsed = profileSchema.parse(JSON.parse(readFileSync(profile, 'utf8')));
writeFileSync(out, drawFlame(frames(parsed, Number(seconds) * 1e6), title));
