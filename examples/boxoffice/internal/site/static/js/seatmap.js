// The plan of the house as a grid of buttons: repaints only changed seats, and moves
// the one tab stop with the arrow keys.

import { announce, setText, $, $$ } from './dom.js';
import { money, number, t } from './i18n.js';

export class SeatMap extends EventTarget {
  constructor(grid) {
    super();
    this.grid = grid;
    this.seats = new Map(); // id → { id, button, row, column, status, price, tier }
    this.rows = []; // seats by position
    this.chosen = new Set();
    this.limit = 6; // how many may be chosen; the box office says how many
    $$('.row', grid).forEach((element, row) => {
      const letter = String.fromCharCode(65 + row);
      this.rows.push($$('.seat', element).map((button, column) => {
        const seat = { id: `${letter}-${column + 1}`, button, row, column, letter, status: '', price: 0, tier: 0 };
        button.setAttribute('role', 'gridcell');
        button.tabIndex = -1;
        button.dataset.number = column + 1;
        button.dataset.seat = seat.id;
        this.seats.set(seat.id, seat);
        return seat;
      }));
    });
    this.stop = this.rows[0][0];
    grid.addEventListener('click', (event) => {
      const seat = this.seatOf(event.target);
      if (seat) this.toggle(seat);
    });
    grid.addEventListener('focusin', (event) => {
      const seat = this.seatOf(event.target);
      if (seat) this.moveStop(seat);
    });
    grid.addEventListener('keydown', (event) => this.key(event));
  }

  seatOf(target) {
    const button = target.closest?.('.seat');
    return button ? this.seats.get(button.dataset.seat) : undefined;
  }

  // update takes the API's list and repaints the seats that differ from the plan. Chosen
  // seats that another member has taken are dropped.
  update(list) {
    const prices = [...new Set(list.map((seat) => seat.price))].sort((a, b) => b - a);
    const lost = [];
    let changed = false;
    for (const { id, status, price } of list) {
      const seat = this.seats.get(id);
      if (!seat || (seat.status === status && seat.price === price)) continue;
      changed = true;
      const known = seat.status !== '';
      Object.assign(seat, { status, price, tier: Math.min(prices.indexOf(price), 3) + 1 });
      if (status !== 'AVAILABLE' && this.chosen.delete(id)) lost.push(id);
      this.paint(seat, known);
    }
    if (this.grid.getAttribute('aria-busy') === 'true') this.open();
    if (changed) this.dispatchEvent(new Event('painted'));
    if (lost.length > 0) this.dispatchEvent(new CustomEvent('lost', { detail: lost }));
    if (changed || lost.length > 0) this.dispatchEvent(new Event('change'));
    this.prices = prices;
  }

  open() {
    for (const { button } of this.seats.values()) button.disabled = false;
    this.grid.removeAttribute('aria-busy');
    // The tab stop starts in the middle of the house, where most people look.
    this.moveStop(this.rows[Math.floor(this.rows.length / 3)][Math.floor(this.rows[0].length / 2)]);
  }

  paint(seat, animate) {
    const { button } = seat;
    const chosen = this.chosen.has(seat.id);
    const state = chosen ? 'chosen' : seat.status.toLowerCase();
    button.dataset.state = state;
    button.dataset.tier = seat.tier;
    button.classList.toggle('moved', animate && !chosen);
    button.setAttribute('aria-selected', String(chosen));
    button.setAttribute('aria-disabled', String(seat.status !== 'AVAILABLE'));
    button.setAttribute('aria-label', this.describe(seat));
  }

  describe(seat) {
    const state = this.chosen.has(seat.id) ? t('seat.chosen')
      : { AVAILABLE: t('seat.available'), HOLD: t('seat.hold'), SOLD: t('seat.sold') }[seat.status];
    return t('seat.label', { row: seat.letter, seat: seat.column + 1, state, price: money(seat.price) });
  }

  toggle(seat) {
    if (this.chosen.has(seat.id)) {
      this.chosen.delete(seat.id);
    } else if (seat.status !== 'AVAILABLE') {
      announce(this.describe(seat));
      return;
    } else if (this.chosen.size >= this.limit) {
      this.dispatchEvent(new Event('full'));
      return;
    } else {
      this.chosen.add(seat.id);
    }
    this.paint(seat, false);
    this.dispatchEvent(new CustomEvent('change', { detail: seat }));
  }

  // allow says how many seats may be chosen. Of more, the first ones stay.
  allow(limit) {
    this.limit = limit;
    if (this.chosen.size > limit) this.choose([...this.chosen].slice(0, limit));
  }

  // choose replaces the choice by these seats.
  choose(ids) {
    const before = [...this.chosen];
    this.chosen = new Set(ids);
    for (const id of new Set([...before, ...ids])) this.paint(this.seats.get(id), false);
    this.dispatchEvent(new Event('change'));
  }

  chosenSeats() {
    return [...this.chosen].map((id) => this.seats.get(id)).sort((a, b) => a.row - b.row || a.column - b.column);
  }

  moveStop(seat) {
    this.stop.button.tabIndex = -1;
    this.stop = seat;
    seat.button.tabIndex = 0;
  }

  key(event) {
    const seat = this.seatOf(event.target);
    if (!seat || event.altKey || event.metaKey) return;
    const lastRow = this.rows.length - 1;
    const lastColumn = this.rows[0].length - 1;
    let { row, column } = seat;
    switch (event.key) {
      case 'ArrowLeft': column -= 1; break;
      case 'ArrowRight': column += 1; break;
      case 'ArrowUp': row -= 1; break;
      case 'ArrowDown': row += 1; break;
      case 'PageUp': row -= 5; break;
      case 'PageDown': row += 5; break;
      case 'Home': column = 0; if (event.ctrlKey) row = 0; break;
      case 'End': column = lastColumn; if (event.ctrlKey) row = lastRow; break;
      default: return;
    }
    event.preventDefault();
    row = Math.min(Math.max(row, 0), lastRow);
    column = Math.min(Math.max(column, 0), lastColumn);
    this.rows[row][column].button.focus();
  }
}

// legend names the prices beside the states.
export function legend(list, prices) {
  for (const old of $$('.price', list)) old.remove();
  prices.slice(0, 4).forEach((price, index) => {
    const item = document.createElement('li');
    item.className = 'price';
    const sample = document.createElement('span');
    sample.className = 'seat';
    sample.dataset.state = 'available';
    sample.dataset.tier = index + 1;
    item.append(sample, index === 3 && prices.length > 4 ? t('seats.price.andless', { price: money(price) }) : money(price));
    list.insertBefore(item, $('.key', list));
  });
}

// tooltip describes a seat beside the pointer or the focus.
export function tooltip(map, tip) {
  let about; // the seat that the tip is about
  const place = (seat) => {
    about = seat;
    if (!seat || seat.status === '') {
      tip.hidden = true;
      return;
    }
    const state = map.chosen.has(seat.id) ? t('seat.chosen')
      : { AVAILABLE: money(seat.price), HOLD: t('seat.hold'), SOLD: t('seat.sold') }[seat.status];
    setText(tip, `${seat.letter}-${number(seat.column + 1)} · ${state}`);
    const box = seat.button.getBoundingClientRect();
    const plan = tip.parentElement.getBoundingClientRect();
    tip.style.left = `${box.left - plan.left + box.width / 2}px`;
    tip.style.top = `${box.top - plan.top}px`;
    tip.hidden = false;
  };
  map.grid.addEventListener('pointerover', (event) => { if (event.pointerType === 'mouse') place(map.seatOf(event.target)); });
  map.grid.addEventListener('pointerleave', () => place(undefined));
  map.grid.addEventListener('focusin', (event) => { if (event.target.matches(':focus-visible')) place(map.seatOf(event.target)); });
  map.grid.addEventListener('focusout', () => place(undefined));
  map.addEventListener('change', () => { if (about) place(about); });
}
