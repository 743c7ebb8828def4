// People let in per second, as bars. Seconds without figures are shaded. Drawn in
// the picture's own pixels, so that its texts keep their size on every screen.

import { svg } from './dom.js';
import { number, t, time } from './i18n.js';

const TOP = 10;
const BOTTOM = 24; // for the time
const SIDE = 44; // for the numbers
const LEAST = 4; // the height of the picture stands for so many at least

export const rounded = (n) => number(Math.round(10 * n) / 10);

export class RoomPlot {
  #picture;
  #title;
  #seconds = null;

  constructor(picture, title) {
    this.#picture = picture;
    this.#title = title;
    new ResizeObserver(() => { if (this.#seconds) this.#draw(); }).observe(picture);
  }

  // show draws seconds of { at, n }, oldest first; n is null where it is not known.
  show(seconds) {
    this.#seconds = seconds;
    this.#draw();
    this.#picture.setAttribute('aria-label', summary(this.#title, seconds));
  }

  #draw() {
    const width = Math.round(this.#picture.clientWidth);
    const height = Math.round(this.#picture.clientHeight);
    if (width < 2 * SIDE) return; // not laid out yet
    const seconds = this.#seconds;
    const unit = step(Math.max(LEAST, ...seconds.map((s) => s.n ?? 0)));
    const most = unit * Math.ceil(Math.max(LEAST, ...seconds.map((s) => s.n ?? 0)) / unit);
    const ground = height - BOTTOM;
    const y = (n) => ground - ((ground - TOP) * n) / most;
    const lines = [];
    for (let n = unit; n <= most; n += unit) lines.push(n);

    const each = (width - SIDE) / seconds.length;
    const gap = each > 5 ? 1.5 : 0.5;
    let bars = '';
    let unknown = '';
    seconds.forEach((s, i) => {
      const left = (i * each).toFixed(1);
      if (s.n === null) unknown += `M${left} ${TOP}h${each.toFixed(1)}V${ground}h-${each.toFixed(1)}z`;
      // A single one is to be seen too.
      else if (s.n > 0) bars += `M${left} ${Math.min(y(s.n), ground - 2).toFixed(1)}h${(each - gap).toFixed(1)}V${ground}h-${(each - gap).toFixed(1)}z`;
    });
    this.#picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
    this.#picture.replaceChildren(
      svg('path', { class: 'unknown', d: unknown }),
      ...lines.flatMap((n) => [
        svg('line', { class: 'line', x1: 0, x2: width - SIDE + 4, y1: y(n), y2: y(n) }),
        svg('text', { x: width - SIDE + 9, y: y(n) + 4 }, number(n)),
      ]),
      svg('path', { class: 'bars', d: bars }),
      svg('line', { class: 'ground', x1: 0, x2: width - SIDE, y1: ground, y2: ground }),
      svg('text', { x: 0, y: height - 6 }, t('ops.budget.ago', { n: number(seconds.length) })),
      svg('text', { x: width - SIDE, y: height - 6, 'text-anchor': 'end' }, t('ops.budget.now')),
    );
  }
}

// step is the distance of the lines: 1, 2 or 5 of a power of ten, for at most four.
function step(most) {
  const power = 10 ** Math.floor(Math.log10(most));
  return [0.5, 1, 2, 5].map((n) => Math.max(1, n * power)).find((n) => most / n <= 4) ?? 5 * power;
}

// lately is the rate over the last known seconds, at most ten; null without any.
export function lately(seconds) {
  const last = seconds.slice(-10).filter((s) => s.n !== null);
  return last.length === 0 ? null : last.reduce((sum, s) => sum + s.n, 0) / last.length;
}

// summary is the picture in words.
function summary(title, seconds) {
  const known = seconds.filter((s) => s.n !== null);
  if (known.length === 0) return t('ops.room.summary.none', { title });
  const peak = known.reduce((a, b) => (b.n > a.n ? b : a));
  return t('ops.room.summary', {
    title, n: lately(seconds) === null ? '–' : rounded(lately(seconds)), peak: rounded(peak.n), time: time(new Date(1000 * peak.at)),
    total: number(Math.round(known.reduce((sum, s) => sum + s.n, 0))),
  });
}
