// The last samples of a number as a small curve.

import { $ } from './dom.js';
import { number } from './i18n.js';

const WIDTH = 240;
const HEIGHT = 60;

export class Sparkline {
  // label makes the words of the picture from the newest value and the highest.
  constructor(picture, samples, label) {
    this.picture = picture;
    this.samples = samples;
    this.label = label;
    this.values = [];
  }

  add(value) {
    this.values.push(value);
    if (this.values.length > this.samples) this.values.shift();
    const top = Math.max(10, ...this.values);
    const step = WIDTH / (this.samples - 1);
    const start = WIDTH - step * (this.values.length - 1);
    const points = this.values.map((v, i) => `${(start + i * step).toFixed(1)} ${(HEIGHT - 3 - (v / top) * (HEIGHT - 8)).toFixed(1)}`);
    const curve = `M${points.join('L')}`;
    $('.curve', this.picture).setAttribute('d', curve);
    $('.area', this.picture).setAttribute('d', `${curve}V${HEIGHT}H${start.toFixed(1)}Z`);
    this.picture.setAttribute('aria-label', this.label({ n: number(value), max: number(Math.max(...this.values)) }));
  }
}
