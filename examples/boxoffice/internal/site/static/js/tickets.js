// My tickets: confirmed, held and ended reservations; paying, cancelling and refunds.

import './site.js';
import { Problem, get, now, remove } from './api.js';
import { bySeat } from './booking.js';
import { codesOf } from './codes.js';
import { confirmed } from './confirm.js';
import { Desk } from './desk.js';
import { $, announce, h, keep, setText, show, svg, tell } from './dom.js';
import { clock, money, t } from './i18n.js';
import { titleOf } from './shows.js';

const problem = $('#problem');
const shown = new Map(); // reservation id → { element, state }
const busy = new Map(); // reservation id → the state at which an action was sent

async function load() {
  const { tickets } = await get('/api/me/tickets');
  for (const ticket of tickets) if (busy.has(ticket.reservationId) && busy.get(ticket.reservationId) !== stateOf(ticket)) busy.delete(ticket.reservationId);
  await render(tickets);
  const moving = busy.size > 0 || tickets.some(changing);
  return moving ? 1500 : 15000;
}

const stateOf = ({ status, paymentStatus = '', refund = '' }) => `${status} ${paymentStatus} ${refund}`;

// Reservations that are about to change by themselves are read often.
const changing = ({ status, paymentStatus, refund }) => status === 'PENDING' || paymentStatus === 'PROCESSING' || refund === 'REQUESTED';

async function render(tickets) {
  show($('#none'), tickets.length === 0);
  const current = tickets.filter((ticket) => ticket.status !== 'CANCELLED');
  const past = tickets.filter((ticket) => ticket.status === 'CANCELLED');
  await fill($('#current'), $('#current-list'), current);
  await fill($('#past'), $('#past-list'), past);
  tick();
}

// fill keeps the elements of tickets that have not changed, and with them the focus.
async function fill(section, list, tickets) {
  const elements = [];
  for (const ticket of tickets) {
    const state = JSON.stringify([ticket, busy.has(ticket.reservationId)]);
    const old = shown.get(ticket.reservationId);
    if (old?.state === state) {
      elements.push(old.element);
      continue;
    }
    const element = draw(ticket, await titleOf(ticket.eventId));
    shown.set(ticket.reservationId, { element, state });
    elements.push(element);
  }
  keep(list, elements);
  show(section, tickets.length > 0);
}

function draw(ticket, title) {
  const seats = [...ticket.seatIds].sort(bySeat);
  const element = h('li', { class: `ticket ${ticket.status.toLowerCase()}`, 'data-reservation': ticket.reservationId });
  element.append(
    h('img', { class: 'art', src: `/posters/${encodeURIComponent(ticket.eventId)}`, alt: '', width: 800, height: 500, loading: 'lazy' }),
    h('div', { class: 'body' },
      h('h3', {}, title),
      h('p', { class: 'chips' }, ...seats.map((seat) => h('span', {}, seat))),
      h('p', { class: 'states' }, chip(ticket), paymentChip(ticket)),
      ticket.status === 'PENDING' && !ticket.paymentStatus && h('p', { class: 'fine' }, h('span', { 'data-expires': ticket.holdExpiresAt })),
      ticket.status === 'CONFIRMED' && ticket.refund !== 'REQUESTED' && codesOf(ticket, title),
      actions(ticket, title)),
    h('div', { class: 'stub' },
      h('strong', {}, money(ticket.amount)),
      bars(ticket.reservationId),
      h('code', { title: ticket.reservationId }, ticket.reservationId.slice(-8).toUpperCase())),
  );
  return element;
}

function chip(ticket) {
  const text = {
    PENDING: t('ticket.pending'),
    CONFIRMED: t('ticket.confirmed'),
    CANCELLED: {
      USER_REQUEST: t('ticket.cancelled.user'),
      PAYMENT_FAILED: t('ticket.cancelled.payment'),
      HOLD_TIMEOUT: t('ticket.cancelled.timeout'),
      REFUNDED: t('ticket.cancelled.refunded'),
    }[ticket.reason] ?? t('ticket.cancelled'),
  }[ticket.status];
  return h('span', { class: 'state', 'data-state': ticket.status }, text);
}

function paymentChip(ticket) {
  if (ticket.refund === 'REQUESTED') return h('span', { class: 'state', 'data-state': 'PROCESSING' }, t('payment.refunding'));
  if (ticket.transferred) return h('span', { class: 'state' }, t('ticket.transferred'));
  const text = {
    PROCESSING: t('payment.processing'),
    SUCCESS: t('payment.success'),
    FAILED: t('payment.failed'),
    REFUNDED: t('payment.refunded'),
  }[ticket.paymentStatus];
  return text && h('span', { class: 'state', 'data-state': ticket.paymentStatus }, text);
}

function actions(ticket, title) {
  const id = ticket.reservationId;
  if (busy.has(id)) return h('p', { class: 'actions' }, h('span', { class: 'hint' }, t('ticket.busy')));
  const address = `/checkout/${encodeURIComponent(id)}`;
  if (ticket.status === 'PENDING') {
    return h('p', { class: 'actions' },
      h('a', { class: 'button primary', href: address }, ticket.paymentStatus ? t('ticket.follow') : t('ticket.pay')),
      h('button', { type: 'button', class: 'button quiet', onclick: () => release(ticket) }, t('ticket.release')));
  }
  if (ticket.status === 'CONFIRMED' && !ticket.used && ticket.refund !== 'REQUESTED') {
    return h('p', { class: 'actions' },
      h('a', { class: 'button quiet', href: `/transfers?ticket=${encodeURIComponent(id)}`, 'aria-label': t('ticket.transfer.label', { title }) }, t('ticket.transfer')),
      !ticket.transferred && h('button', { type: 'button', class: 'button quiet', 'aria-label': t('ticket.refund.label', { title }), onclick: () => refund(ticket) }, t('ticket.refund')));
  }
  return null;
}

// bars is the pattern on the stub: drawn from the id, for the look of it.
function bars(id) {
  const picture = svg('svg', { class: 'bars', viewBox: '0 0 96 28', 'aria-hidden': 'true' });
  let x = 0;
  for (let i = 0; x < 92; i += 1) {
    const code = id.charCodeAt(i % id.length) * (i + 3);
    const width = 1 + (code % 3);
    picture.append(svg('rect', { x, y: 0, width, height: 28 }));
    x += width + 1 + ((code >> 2) % 3);
  }
  return picture;
}

async function release(ticket) {
  const sure = await confirmed({
    title: t('confirm.release.title'), text: t('confirm.release.text'), yes: t('ticket.release'), no: t('confirm.release.no'),
  });
  if (sure) await act(ticket, t('ticket.released'));
}

async function refund(ticket) {
  const sure = await confirmed({
    title: t('confirm.refund.title'),
    text: t('confirm.refund.text', { amount: money(ticket.amount) }),
    yes: t('ticket.refund'), no: t('confirm.refund.no'),
  });
  if (!sure) return;
  await act(ticket, t('ticket.refunding'));
}

// act cancels a reservation: a held one ends at once, a paid one when its money
// is back. The ticket counts as busy until the API shows a change.
async function act(ticket, said) {
  tell(problem, null);
  busy.set(ticket.reservationId, stateOf(ticket));
  desk.now();
  try {
    await remove(`/api/me/tickets/${encodeURIComponent(ticket.reservationId)}`, { repeat: true });
    announce(said);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    busy.delete(ticket.reservationId);
    tell(problem, error);
  }
  desk.now();
}

function tick() {
  for (const element of document.querySelectorAll('[data-expires]')) {
    const left = Date.parse(element.dataset.expires) - now();
    setText(element, left > 0 ? t('ticket.heldfor', { time: clock(left) }) : t('checkout.ending'));
  }
}
setInterval(tick, 1000);

const desk = new Desk(load, { every: 3000, parts: ['#none', '#current', '#past'] });
