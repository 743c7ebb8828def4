// On a screen that shows only part of the house, a small picture of all of it, with
// the free seats, the chosen ones, and the part in view. A tap goes there.

import { $ } from './dom.js';

export class Minimap {
  constructor(canvas, scroller, map) {
    Object.assign(this, { canvas, scroller, map });
    this.context = canvas.getContext('2d');
    scroller.addEventListener('scroll', () => this.plan(), { passive: true });
    addEventListener('scroll', () => this.plan(), { passive: true });
    addEventListener('resize', () => this.fit());
    addEventListener('themechange', () => this.plan());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.plan());
    map.addEventListener('painted', () => this.plan());
    map.addEventListener('change', () => this.plan());
    const go = (event) => {
      if (event.type === 'pointermove' && event.buttons === 0) return;
      const box = canvas.getBoundingClientRect();
      this.go((event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
    };
    canvas.addEventListener('pointerdown', go);
    canvas.addEventListener('pointermove', go);
    this.fit();
  }

  fit() {
    const partial = this.scroller.scrollWidth > this.scroller.clientWidth + 4;
    document.body.classList.toggle('partial', partial);
    if (partial && !this.placed) {
      this.placed = true;
      this.scroller.scrollLeft = (this.scroller.scrollWidth - this.scroller.clientWidth) / 2;
    }
    this.plan();
  }

  go(x, y) {
    const { scroller } = this;
    scroller.scrollLeft = x * scroller.scrollWidth - scroller.clientWidth / 2;
    const box = scroller.getBoundingClientRect();
    scrollBy(0, box.top + y * box.height - innerHeight / 2);
  }

  // plan has one drawing per frame, however much has changed.
  plan() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      this.draw();
    });
  }

  draw() {
    const { canvas, context, map, scroller } = this;
    const rows = map.rows.length;
    const columns = map.rows[0].length;
    const width = canvas.width / columns;
    const height = canvas.height / rows;
    // A canvas knows no custom properties: the legend's samples know the colours.
    const colour = (selector) => getComputedStyle($(selector)).backgroundColor;
    const colours = { hold: colour('.legend .held'), chosen: colour('.legend .chosen'), sold: colour('.legend .sold') };
    context.clearRect(0, 0, canvas.width, canvas.height);
    for (const row of map.rows) {
      for (const seat of row) {
        const { state } = seat.button.dataset;
        if (!state) continue;
        const chosen = state === 'chosen';
        context.fillStyle = colours[state] ?? getComputedStyle(seat.button).backgroundColor;
        const grow = chosen ? 2 : -1.5;
        context.fillRect(seat.column * width - grow, seat.row * height - grow, width + 2 * grow, height + 2 * grow);
      }
    }
    const box = scroller.getBoundingClientRect();
    const scale = canvas.width / scroller.scrollWidth;
    const top = Math.max(0, -box.top) / box.height;
    const bottom = Math.min(1, (innerHeight - box.top) / box.height);
    context.strokeStyle = getComputedStyle(canvas).color;
    context.lineWidth = 3;
    context.strokeRect(scroller.scrollLeft * scale + 1.5, top * canvas.height + 1.5,
      scroller.clientWidth * scale - 3, Math.max(0, bottom - top) * canvas.height - 3);
  }
}
