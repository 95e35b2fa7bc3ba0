/**
 * What a header asks for, each with its weight (RFC 9110, 12.4.2), in lower case; a weight that makes no sense is taken
 * for 0.
 */
export function weightsIn(header: string): ReadonlyMap<string, number> {
  return new Map(header.split(',').map(weightOf));
}

function weightOf(item: string): [what: string, weight: number] {
  const [what = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
  const given = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  if (given === undefined) return [what, 1];
  return [what, /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(given) ? Number(given) : 0];
}
