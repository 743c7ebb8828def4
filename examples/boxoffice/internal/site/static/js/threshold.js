// The number of places of a room: a slider, in steps that grow with the number, and a
// field for any number. Both are one value, which is applied when the operator is done
// with it.

import { h } from './dom.js';
import { t, tn } from './i18n.js';

const STEPS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...[10, 100, 1000, 10000].flatMap((n) => [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8].map((x) => Math.round(x * n))), 100000];
const MOST = 1000000; // of the field

// AFTER is how long the value must be unchanged before it is applied: holding an arrow
// key asks once.
const AFTER = 400;

export class ThresholdControl {
  #apply;
  #value = null; // in force
  #wanted = null; // by somebody, and not applied yet
  #timer = 0;
  #range;
  #field;

  // apply is called with a number; it settles when that is in force, or refused.
  constructor({ id, title, apply }) {
    this.#apply = apply;
    this.#range = h('input', { type: 'range', id, min: 0, max: STEPS.length - 1, step: 1, 'aria-describedby': `${id}-hint`, oninput: () => this.#edit(STEPS[this.#range.value]), onchange: () => this.#later(AFTER) });
    this.#field = h('input', { type: 'number', min: 0, max: MOST, step: 1, inputMode: 'numeric', 'aria-label': t('ops.room.threshold.exact', { title }), oninput: () => this.#typed(), onchange: () => this.#later(0), onkeydown: (event) => { if (event.key === 'Enter') this.#later(0); } });
    this.element = h('div', { class: 'threshold' },
      h('label', { htmlFor: id }, t('ops.room.threshold')),
      h('div', { class: 'both' }, this.#range, this.#field),
      h('small', { id: `${id}-hint` }, t('ops.room.threshold.hint')));
  }

  // show takes the room's value, unless the operator is changing it.
  show(value) {
    this.#value = value;
    if (this.#wanted === null) this.#fill(value, true);
  }

  #fill(value, both) {
    // The last step that is not above it: 0, which closes the room, stays apart.
    const place = String(STEPS.findLastIndex((n) => n <= value));
    if (both && this.#field.value !== String(value)) this.#field.value = value;
    if (this.#range.value !== place) this.#range.value = place;
    this.#range.setAttribute('aria-valuetext', tn('ops.room.places', value));
    this.#field.removeAttribute('aria-invalid');
  }

  #edit(value) {
    this.#wanted = value;
    this.#fill(value, true);
  }

  #typed() {
    clearTimeout(this.#timer);
    if (!this.#field.validity.valid || this.#field.value === '') {
      this.#wanted = NaN;
      this.#field.setAttribute('aria-invalid', 'true');
      return;
    }
    this.#wanted = Number(this.#field.value);
    this.#fill(this.#wanted, false);
  }

  #later(ms) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#now(), ms);
  }

  async #now() {
    const wanted = this.#wanted;
    if (wanted === null) return;
    if (!Number.isNaN(wanted) && wanted !== this.#value) await this.#apply(wanted);
    if (this.#wanted !== wanted && !Number.isNaN(wanted)) return; // changed meanwhile; that is applied next
    this.#wanted = null;
    this.#fill(this.#value, true);
  }
}
