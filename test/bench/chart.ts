import { scaleBand, scaleLinear, scaleLog } from 'd3-scale';
import { line } from 'd3-shape';
import type { Chart, Round } from './bench.js';
import { figures } from './rounds.js';
import { spread, type Spread } from './statistics.js';

const [width, left, right, top] = [760, 210, 70, 48];
const colours = ['#1f6f8b', '#c8553d', '#6a8d3a', '#8b5fa8', '#b58b00', '#557'];
const style =
  'text{font:13px sans-serif;fill:#222}.title{font-weight:bold;font-size:15px}.faint{fill:#777}.rule{stroke:#ddd}.whisker{stroke:#222}';

/** A chart as an SVG document: bars of the medians with whiskers from least to most, or a line per side. */
export function drawChart(chart: Chart, rounds: readonly Round[]): string {
  const drawn = chart.axis === undefined ? bars(chart, rounds) : lines(chart, rounds, chart.axis);
  const title = `<text class="title" x="12" y="24">${escaped(chart.title)}</text>`;
  const size = `width="${String(width)}" height="${String(drawn.height)}"`;
  const box = `viewBox="0 0 ${String(width)} ${String(drawn.height)}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${box}>`,
    `<style>${style}</style><rect width="100%" height="100%" fill="#fff"/>${title}`,
    ...drawn.parts,
    '</svg>\n',
  ].join('\n');
}

interface Drawn {
  readonly height: number;
  readonly parts: readonly string[];
}

const sidesOf = (rounds: readonly Round[], key: string) => [
  ...new Set(rounds.filter(({ values }) => values[key] !== undefined).map(({ side }) => side)),
];

function bars({ key, point }: Chart, rounds: readonly Round[]): Drawn {
  const sides = sidesOf(
    rounds.filter((round) => round.point === point),
    key,
  );
  const height = top + sides.length * 40 + 16;
  const spreads = sides.map((side) => spread(figures(rounds, side, key, point)));
  const x = scaleLinear([0, Math.max(...spreads.map(({ most }) => most))], [left, width - right]).nice();
  const y = scaleBand(sides, [top, height - 16]).padding(0.3);
  const parts = sides.flatMap((side, i) => {
    const { median, least, most } = spreads[i] ?? spread([0]);
    const [at, tall] = [y(side) ?? 0, y.bandwidth()];
    const middle = at + tall / 2;
    return [
      `<rect x="${px(left)}" y="${px(at)}" width="${px(x(median) - left)}" height="${px(tall)}" fill="${colourOf(i)}"/>`,
      `<line class="whisker" x1="${px(x(least))}" x2="${px(x(most))}" y1="${px(middle)}" y2="${px(middle)}"/>`,
      `<text x="${px(left - 8)}" y="${px(middle + 4)}" text-anchor="end">${escaped(side)}</text>`,
      `<text x="${px(x(most) + 6)}" y="${px(middle + 4)}">${figure(median)}</text>`,
    ];
  });
  return { height, parts };
}

function lines({ key, logarithmic }: Chart, rounds: readonly Round[], axis: string): Drawn {
  const sides = sidesOf(rounds, key);
  const legendHeight = sides.length * 20;
  const [from, to] = [top + legendHeight + 8, top + legendHeight + 288];
  const points = [...new Set(rounds.flatMap(({ point }) => point ?? []))].sort((a, b) => a - b);
  const span = [points[0] ?? 0, points.at(-1) ?? 1];
  const x = logarithmic ? scaleLog(span, [80, width - 30]) : scaleLinear(span, [80, width - 30]);
  const curves = sides.map((side) => curveOf(rounds, side, key, points));
  const y = scaleLinear([0, Math.max(...curves.flat().map(({ most }) => most))], [to, from]).nice();
  const rules = y
    .ticks(5)
    .flatMap((tick) => [
      `<line class="rule" x1="80" x2="${px(width - 30)}" y1="${px(y(tick))}" y2="${px(y(tick))}"/>`,
      `<text class="faint" x="72" y="${px(y(tick) + 4)}" text-anchor="end">${figure(tick)}</text>`,
    ]);
  const marks = points.map(
    (point) =>
      `<text class="faint" x="${px(x(point))}" y="${px(to + 20)}" text-anchor="middle">${point.toLocaleString('en')}</text>`,
  );
  const drawn = curves.flatMap((curve, i) => {
    const path =
      line<Point>(
        (one) => x(one.point),
        (one) => y(one.median),
      )(curve) ?? '';
    const colour = colourOf(i);
    const dots = curve.map(
      (one) =>
        `<circle cx="${px(x(one.point))}" cy="${px(y(one.median))}" r="3" fill="${colour}"/><line stroke="${colour}" x1="${px(x(one.point))}" x2="${px(x(one.point))}" y1="${px(y(one.least))}" y2="${px(y(one.most))}"/>`,
    );
    return [`<path d="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`, ...dots];
  });
  const legend = sides.flatMap((side, i) => [
    `<rect x="80" y="${px(top + i * 20 - 8)}" width="12" height="12" fill="${colourOf(i)}"/>`,
    `<text x="98" y="${px(top + i * 20 + 3)}">${escaped(side)}</text>`,
  ]);
  const label = `<text class="faint" x="${px((80 + width - 30) / 2)}" y="${px(to + 42)}" text-anchor="middle">${escaped(axis)}</text>`;
  return { height: to + 56, parts: [...legend, ...rules, ...marks, label, ...drawn] };
}

interface Point extends Spread {
  readonly point: number;
}

function curveOf(rounds: readonly Round[], side: string, key: string, points: readonly number[]): Point[] {
  return points.flatMap((point) => {
    const values = figures(rounds, side, key, point).filter((value) => !Number.isNaN(value));
    return values.length === 0 ? [] : { point, ...spread(values) };
  });
}

const colourOf = (index: number) => colours[index % colours.length] ?? '#000';
const px = (value: number) => value.toFixed(1);
const figure = (value: number) =>
  value.toLocaleString('en', { maximumFractionDigits: Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2 });
const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
