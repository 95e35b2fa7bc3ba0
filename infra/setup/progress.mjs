const spinner = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const fancy = process.stdout.isTTY === true && process.env['NO_COLOR'] === undefined;
/** Without a terminal there is no line to redraw, so a long step speaks up now and then. */
const signOfLifeMs = 15_000;
/** What is over sooner needs no line of its own there. */
const worthALineMs = 300;
let hushed = false;
/** @type {((mark: string) => string) | undefined} the line of the step that is under way */
let underWay;

/**
 * Runs one step of something that takes its time, and shows that it goes on: a line that moves in a terminal, plain
 * lines elsewhere. The line that stays says how long it took.
 * @template T
 * @param {string} name at most about ten characters
 * @param {(say: (detail: string) => void) => T | Promise<T>} work may say what it is at; the last words stay
 * @returns {Promise<T>}
 */
export async function step(name, work) {
  const started = performance.now();
  let detail = '';
  const line = (/** @type {string} */ mark) => `${mark} ${name.padEnd(10)} ${detail.padEnd(58)} ${elapsed(started)}`;
  underWay = line;
  let turn = 0;
  /** @type {NodeJS.Timeout | undefined} */
  let spoken;
  const draw = () => {
    turn += 1;
    if (!hushed) process.stdout.write(`\r\u001b[2K${cut(line(spinner[turn % spinner.length] ?? ''))}`);
  };
  const timer = fancy ? setInterval(draw, 80) : setInterval(() => finish(line('·')), signOfLifeMs);
  try {
    const result = await work((words) => {
      detail = words;
      clearTimeout(spoken);
      if (!fancy) spoken = setTimeout(() => finish(`· ${name.padEnd(10)} ${words}`), worthALineMs);
    });
    finish(line(green('✓')));
    return result;
  } catch (error) {
    finish(line(red('✗')));
    throw error;
  } finally {
    clearInterval(timer);
    clearTimeout(spoken);
    underWay = undefined;
  }
}

/** @param {string} text */
function finish(text) {
  if (!hushed) console.log(fancy ? `\r\u001b[2K${text}` : text);
}

/**
 * Ends the step that is under way, if one is, and shows no more of them: what follows is said by others.
 * @param {boolean} failed
 */
export function hush(failed) {
  if (underWay) finish(underWay(failed ? red('✗') : '·'));
  hushed = true;
}

/** A line that wraps could not be redrawn. @param {string} text */
function cut(text) {
  return text.slice(0, Math.max(20, (process.stdout.columns ?? 80) - 1));
}

/** @param {number} started by performance.now() */
function elapsed(started) {
  return `${((performance.now() - started) / 1_000).toFixed(1).padStart(6)} s`;
}

/** @param {string} text */
export function bold(text) {
  return fancy ? `\u001b[1m${text}\u001b[22m` : text;
}

/** @param {string} text */
export function dim(text) {
  return fancy ? `\u001b[2m${text}\u001b[22m` : text;
}

/** @param {string} text */
function green(text) {
  return fancy ? `\u001b[32m${text}\u001b[39m` : text;
}

/** @param {string} text */
function red(text) {
  return fancy ? `\u001b[31m${text}\u001b[39m` : text;
}
