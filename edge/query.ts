import { Failure } from '../contracts/failure.js';

/** Names and values of a request; from a query or a form they are strings, from JSON anything. */
export type Given = ReadonlyMap<string, unknown>;

const nothing: Given = new Map();

/**
 * The query of a URL.
 * @throws Failure invalid_params where a name comes twice
 */
export function queryOf(url: string): Given {
  const start = url.indexOf('?');
  if (start < 0) return nothing;
  const given = new Map<string, unknown>();
  for (const [name, value] of pairsOf(url.slice(start + 1))) addGiven(given, name, value);
  return given;
}

/** Where nothing is encoded, as in nearly every query, there is nothing to decode, and splitting takes half the time. */
function pairsOf(query: string): Iterable<readonly [string, string]> {
  if (/[%+]/.test(query)) return new URLSearchParams(`?${query}`);
  const pairs = query.split('&').filter((pair) => pair !== '');
  return pairs.map((pair) => {
    const equals = pair.indexOf('=');
    return equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)];
  });
}

/**
 * Adds one value.
 * @throws Failure invalid_params where there is one of that name already
 */
export function addGiven(given: Map<string, unknown>, name: string, value: unknown): void {
  if (given.has(name)) throw new Failure('invalid_params', `parameter "${name.slice(0, 64)}" is given twice`);
  given.set(name, value);
}

/**
 * All that a request gives, wherever it stands.
 * @throws Failure invalid_params where a name stands in two places
 */
export function mergeGiven(first: Given, second: Given): Readonly<Record<string, unknown>> {
  if (first.size === 0) return Object.fromEntries(second);
  const merged = new Map(first);
  for (const [name, value] of second) addGiven(merged, name, value);
  return Object.fromEntries(merged);
}
