// Calls per second as stacked bars, low below high, with the lines that they must
// stay under. Drawn in the picture's own pixels, so that its texts keep their size
// on every screen.

import { svg } from './dom.js';
import { number, t, time } from './i18n.js';

const TOP = 14;
const BOTTOM = 24; // for the time
const SIDE = 98; // for the names of the lines
const GAP = 9; // the least between two of them, in pixels

export class CallPlot {
  #picture;
  #drawn = null; // what is shown: { seconds, plan }
  #paths = {};

  constructor(picture) {
    this.#picture = picture;
    new ResizeObserver(() => { if (this.#drawn) this.#draw(); }).observe(picture);
  }

  show(seconds, plan) {
    this.#drawn = { seconds, plan };
    this.#draw();
    this.#picture.setAttribute('aria-label', summary(seconds, plan));
  }

  #draw() {
    const { seconds, plan } = this.#drawn;
    const width = Math.round(this.#picture.clientWidth);
    const height = Math.round(this.#picture.clientHeight);
    if (width < 2 * SIDE) return; // not laid out yet
    const most = Math.max(1.06 * plan.hardLimit, ...seconds.map((s) => s.high + s.low));
    const ground = height - BOTTOM;
    const y = (calls) => ground - ((ground - TOP) * calls) / most;
    this.#frame(width, height, plan, y, seconds);

    const step = (width - SIDE) / seconds.length;
    const bar = Math.max(1, step - (step > 5 ? 1.5 : 0.5));
    const paths = { low: '', high: '', over: '' };
    seconds.forEach((s, i) => {
      // A single call is to be seen too.
      const rect = (from, to) => `M${(i * step).toFixed(1)} ${Math.min(y(to), y(from) - 2).toFixed(1)}h${bar.toFixed(1)}V${y(from).toFixed(1)}h-${bar.toFixed(1)}z`;
      if (s.low > 0) paths.low += rect(0, s.low);
      if (s.high > 0) paths.high += rect(s.low, s.low + s.high);
      if (s.low + s.high > plan.hardLimit) paths.over += rect(plan.hardLimit, s.low + s.high);
    });
    for (const [name, d] of Object.entries(paths)) this.#paths[name].setAttribute('d', d);
  }

  // #frame draws the axes behind the bars, once for each size and plan.
  #frame(width, height, plan, y, seconds) {
    const lines = [
      ['cap', plan.lowRate, t('ops.budget.line.low', { n: number(plan.lowRate) })],
      ['rate', plan.rate, t('ops.budget.line.rate', { n: number(plan.rate) })],
      ['limit', plan.hardLimit, t('ops.budget.line.hard', { n: number(plan.hardLimit) })],
    ];
    const key = JSON.stringify([width, height, lines.map(([, calls]) => y(calls)), seconds.length]);
    if (this.#picture.dataset.frame === key) return;
    this.#picture.dataset.frame = key;
    this.#picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
    for (const name of ['low', 'high', 'over']) this.#paths[name] = svg('path', { class: name });
    let under = Infinity; // the name of the line below
    this.#picture.replaceChildren(
      svg('line', { class: 'ground', x1: 0, x2: width - SIDE, y1: y(0), y2: y(0) }),
      this.#paths.low, this.#paths.high, this.#paths.over,
      ...lines.flatMap(([name, calls, text]) => {
        under = Math.min(y(calls) + 4, under - GAP - 4);
        return [
          svg('line', { class: `line ${name}`, x1: 0, x2: width - SIDE + 4, y1: y(calls), y2: y(calls), 'data-calls': calls }),
          svg('text', { class: name, x: width - SIDE + 9, y: under }, text),
        ];
      }),
      svg('text', { x: 0, y: height - 6 }, t('ops.budget.ago', { n: number(seconds.length) })),
      svg('text', { x: width - SIDE, y: height - 6, 'text-anchor': 'end' }, t('ops.budget.now')),
    );
  }
}

// summary is the picture in words.
function summary(seconds, plan) {
  const total = (s) => s.high + s.low;
  const last = seconds.at(-1);
  const peak = seconds.reduce((a, b) => (total(b) > total(a) ? b : a));
  return t('ops.budget.summary', {
    n: number(total(last)), high: number(last.high), low: number(last.low), peak: number(total(peak)), time: time(new Date(1000 * peak.at)),
    cap: number(plan.lowRate), rate: number(plan.rate), hard: number(plan.hardLimit),
  });
}
