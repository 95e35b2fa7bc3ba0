import { spawn } from 'node:child_process';
import { Socket } from 'node:net';

// Reads until its input ends, which happens when the process that holds the other end is gone, however it went.
// Then it asks the child to end, insists after ten seconds, and clears away the folder that the child worked in.
const watch = `
  read _
  kill -TERM "$1" 2>/dev/null
  for i in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$1" 2>/dev/null || break; sleep 1; done
  kill -KILL "$1" 2>/dev/null
  [ -z "$2" ] || rm -rf "$2"`;

/**
 * Ends a child process when this process dies without having stopped it, even by SIGKILL.
 * @param folder a temporary folder of the child's, removed then as well
 * @returns takes the leash off; to be called once the child has gone
 */
export function leash(pid: number, folder = ''): () => void {
  const watcher = spawn('/bin/sh', ['-c', watch, 'leash', String(pid), folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // A group of its own: Ctrl-C in a terminal reaches the whole foreground group.
    detached: true,
  });
  watcher.unref();
  watcher.on('error', () => undefined);
  const { stdin } = watcher;
  stdin.on('error', () => undefined);
  if (stdin instanceof Socket) stdin.unref();
  return () => watcher.kill('SIGKILL');
}
