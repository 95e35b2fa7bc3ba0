/** One line of an exposition: a series and its value. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Exposition {
  /** Type by metric name, as the TYPE lines say. */
  readonly types: ReadonlyMap<string, string>;
  readonly samples: readonly Sample[];
  /** Samples of a name whose labels hold at least these. */
  find(name: string, labels?: Readonly<Record<string, string>>): readonly Sample[];
}

/** Scrapes what Prometheus would, and reads it strictly: a line in any other form throws. */
export async function scrape(url: string): Promise<Exposition> {
  const response = await fetch(url);
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}`);
  return parseExposition(await response.text());
}

/** Reads the text format, https://prometheus.io/docs/instrumenting/exposition_formats/. */
export function parseExposition(text: string): Exposition {
  const lines = text.split('\n').filter((line) => line !== '');
  const types = new Map<string, string>();
  const samples: Sample[] = [];
  for (const line of lines) {
    const [, typed, type] = /^# TYPE (\S+) (counter|gauge|histogram|summary|untyped)$/.exec(line) ?? [];
    if (typed !== undefined && type !== undefined) types.set(typed, type);
    else if (!line.startsWith('#')) samples.push(readSample(line));
  }
  return {
    types,
    samples,
    find: (name, labels = {}) =>
      samples.filter(
        (sample) =>
          sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
      ),
  };
}

function readSample(line: string): Sample {
  const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  if (name === undefined || value === undefined) throw new Error(`not a line of an exposition: ${line}`);
  const pairs = [...labels.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)",?/g)];
  if (pairs.map(([pair]) => pair).join('') !== labels) throw new Error(`labels cannot be read: ${line}`);
  return {
    name,
    labels: Object.fromEntries(pairs.map(([, label, text]) => [label, text])),
    value: value === '+Inf' ? Infinity : Number(value),
  };
}
