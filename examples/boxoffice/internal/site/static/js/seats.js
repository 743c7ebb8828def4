// The seat map page: the visitor's place, the free seats, the chosen ones, and the
// hold.

import './site.js';
import { Problem, Unreachable, call, get, post } from './api.js';
import { bestSeats } from './bestseats.js';
import { bySeat, saveCheckout } from './booking.js';
import { confirmed } from './confirm.js';
import { whenUp } from './connection.js';
import { $, announce, h, setText, show, tell } from './dom.js';
import { entry, roomAddress } from './entry.js';
import { clock, money, number, t, tn } from './i18n.js';
import { Minimap } from './minimap.js';
import { keepPlace } from './place.js';
import { poll } from './poll.js';
import { SeatMap, legend, tooltip } from './seatmap.js';
import { signedIn } from './session.js';

const EVERY = 2000;
const MILESTONES = [300, 120, 60, 30]; // seconds left that are announced

const event = document.body.dataset.event;
const path = `/api/seats/${encodeURIComponent(event)}`;
const remembered = `boxoffice.choice.${event}`;
const holdButton = $('#hold');
const problem = $('#problem');
const allowance = $('#allowance');

const map = new SeatMap($('#grid'));
new Minimap($('#minimap'), $('#scroller'), map);
tooltip(map, $('#tip'));

let etag = '';
let refused = false; // a fresh entry token was refused
let opened = false;
let polling = null;
let place = null; // ends the signs of life
let announced = Infinity;

async function load() {
  let answer;
  try {
    if (!entry.known(event) && !(await admitted())) return false;
    const headers = entry.headers(event);
    if (etag) headers['If-None-Match'] = etag;
    answer = await call('GET', path, { repeat: true, headers });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return stopped(error);
  }
  refused = false;
  if (answer.status === 304) return EVERY;
  etag = answer.headers.get('ETag') ?? '';
  map.update(answer.json.seats);
  if (!opened) open();
  return EVERY;
}

// stopped chooses the view for a refusal to show the seats.
async function stopped(error) {
  if (error.status === 401) {
    start();
    return false;
  }
  if (error.status === 403 && !refused) {
    refused = true;
    entry.forget(event);
    return 0;
  }
  tell(problem, error);
  return 5000;
}

// admitted makes sure of an entry token; without one the way leads back to the
// waiting room.
async function admitted() {
  const { status } = await entry.check(event);
  if (status === 'active') return true;
  location.replace(roomAddress(event));
  return false;
}

function timeLeft(ms) {
  setText($('#stay-left'), clock(ms));
  show($('#stay'));
  $('#stay').classList.toggle('soon', ms < 60000);
  const mark = MILESTONES.findLast((seconds) => ms <= seconds * 1000);
  if (mark !== undefined && mark < announced && ms > 0) {
    if (announced !== Infinity || mark < MILESTONES[0]) announce(t('seats.stay.left', { time: clock(ms) }));
    announced = mark;
  }
}

// timeOver shows that the place is gone: its time was over, it was given back in
// another tab, or the room was lost. Held seats stay held.
function timeOver() {
  polling.stop();
  entry.forget(event);
  show($('#stay'), false);
  show($('#over'));
  holdButton.disabled = true;
  announce(t('seats.over'));
}

$('#stay-leave').addEventListener('click', async () => {
  const sure = await confirmed({ title: t('seats.leave'), text: t('seats.leave.text'), yes: t('seats.leave.yes'), no: t('seats.leave.no') });
  if (!sure) return;
  place?.();
  polling.stop();
  try {
    await entry.leave(event);
  } finally {
    location.assign(`/shows/${encodeURIComponent(event)}`);
  }
});

function open() {
  opened = true;
  place = keepPlace(event, { left: timeLeft, gone: timeOver });
  $('#plan').classList.remove('loading');
  legend($('#legend'), map.prices);
  $('#pick-go').disabled = false;
  try {
    const before = JSON.parse(sessionStorage.getItem(remembered) ?? '[]');
    map.choose(before.filter((id) => map.seats.get(id)?.status === 'AVAILABLE').slice(0, map.limit));
  } catch {
    sessionStorage.removeItem(remembered);
  }
}

function renderBasket(change) {
  const seats = map.chosenSeats();
  const total = seats.reduce((sum, seat) => sum + seat.price, 0);
  const list = $('#basket');
  // The list is left alone when it is the same, for the sake of the focus in it.
  const ids = JSON.stringify(seats.map((seat) => seat.id));
  if (list.dataset.ids === ids) return;
  list.dataset.ids = ids;
  list.replaceChildren(...seats.map((seat) => h('li', {},
    h('span', { class: 'dot', 'data-tier': seat.tier }),
    h('b', {}, seat.id),
    h('span', { class: 'amount' }, money(seat.price)),
    h('button', {
      type: 'button', class: 'button quiet small', 'aria-label': t('seats.remove', { seat: seat.id }),
      onclick: () => { map.toggle(seat); holdButton.disabled ? $('#basket-title').focus() : holdButton.focus(); },
    }, '×'))));
  show($('#basket-empty'), seats.length === 0);
  setText($('#total'), seats.length === 0 ? '–' : money(total));
  setText(holdButton, seats.length === 0 ? t('seats.hold') : tn('seats.holdn', seats.length));
  holdButton.disabled = seats.length === 0;
  document.body.classList.toggle('has-choice', seats.length > 0);
  if (opened) sessionStorage.setItem(remembered, ids);
  if (change) {
    tell(problem, null);
    const key = map.chosen.has(change.id) ? 'seats.added' : 'seats.removed';
    announce(`${t(key, { seat: change.id })} ${t('seats.sum', { n: number(seats.length), max: map.limit, total: money(total) })}`);
  }
}

map.addEventListener('change', (e) => renderBasket(e.detail));
map.addEventListener('full', () => {
  tell(problem, { title: allowance.textContent });
});
map.addEventListener('lost', (e) => {
  tell(problem, { title: tn('seats.lost', e.detail.length, { seats: e.detail.join(', ') }) });
});

// Seats picked by the house.
const count = $('#pick-count');
$('#pick').addEventListener('click', ({ target }) => {
  const step = Number(target.dataset.step ?? 0);
  if (step) setText(count, String(Math.max(1, Math.min(map.limit, Number(count.textContent) + step))));
});
$('#pick').addEventListener('submit', (e) => {
  e.preventDefault();
  const n = Number(count.textContent);
  if (n > map.limit) {
    tell(problem, { title: allowance.textContent });
    return;
  }
  const found = bestSeats(map.rows, n);
  if (!found) {
    tell(problem, { title: tn('seats.pick.none', n) });
    return;
  }
  tell(problem, null);
  map.choose(found);
  const middle = map.seats.get(found[Math.floor(n / 2)]);
  map.moveStop(middle);
  middle.button.scrollIntoView({ block: 'center', inline: 'center' });
  announce(t('seats.pick.found', { seats: found.join(', ') }));
});

// showAllowance says how many seats of the show this member may take, and lets the plan
// take no more. The box office decides: without its answer the plan allows the usual
// number.
async function showAllowance() {
  const { limits, held, bought, remaining } = await get(`/api/shows/${encodeURIComponent(event)}/allowance`);
  const values = { max: Math.min(limits.held, limits.bought), held, bought };
  if (held + bought === 0) setText(allowance, tn('seats.allowance', remaining, values));
  else if (remaining === 0) setText(allowance, t('seats.allowance.none', values));
  else setText(allowance, tn('seats.allowance.left', remaining, values));
  map.allow(remaining);
  setText(count, String(Math.max(1, Math.min(remaining, Number(count.textContent)))));
}

// pendingHere finds a hold of this member that is still running.
async function pendingHere() {
  const { tickets } = await get('/api/me/tickets');
  return tickets.filter((ticket) => ticket.eventId === event && ticket.status === 'PENDING');
}

async function showPending() {
  const [ticket] = await pendingHere();
  if (!ticket) return;
  const notice = $('#pending');
  setText($('span', notice), t('seats.pending', { seats: [...ticket.seatIds].sort(bySeat).join(', ') }));
  $('a', notice).href = `/checkout/${encodeURIComponent(ticket.reservationId)}`;
  show(notice);
}

function goToCheckout({ reservationId }) {
  sessionStorage.removeItem(remembered);
  saveCheckout(reservationId, { eventId: event });
  location.assign(`/checkout/${encodeURIComponent(reservationId)}`);
}

// hold tries once more with a new entry token when the one at hand is refused.
async function hold(again = true) {
  const seatIds = map.chosenSeats().map((seat) => seat.id);
  tell(problem, null);
  holdButton.disabled = true;
  holdButton.classList.add('busy');
  announce(t('seats.holding'));
  try {
    const reservation = await post('/api/seats/reserve', { eventId: event, seatIds }, { headers: entry.headers(event) });
    goToCheckout(reservation);
    return;
  } catch (error) {
    let why = error;
    if (why instanceof Problem && why.status === 403 && again) {
      try {
        if (await admitted()) await hold(false);
        return;
      } catch (refusal) {
        why = refusal;
      }
    }
    if (why instanceof Unreachable) await holdMaybe(seatIds);
    else await holdRefused(why);
  }
  holdButton.classList.remove('busy');
  holdButton.disabled = map.chosen.size === 0;
}

// holdMaybe finds out, once the box office answers again, whether a hold that
// got no answer was made. A hold is not repeated blindly: it would be refused
// because of itself.
async function holdMaybe(seatIds) {
  await whenUp();
  const wanted = [...seatIds].sort(bySeat).join();
  const made = (await pendingHere()).find((ticket) => [...ticket.seatIds].sort(bySeat).join() === wanted);
  if (made) goToCheckout(made);
  else tell(problem, { title: t('seats.hold.unanswered'), detail: t('seats.hold.again') });
}

async function holdRefused(error) {
  if (!(error instanceof Problem)) throw error;
  if (error.status === 401) {
    await signedIn();
    return;
  }
  if (error.type === 'seat-limit') showAllowance();
  tell(problem, error);
  polling.now();
}

holdButton.addEventListener('click', () => hold());

async function start() {
  polling?.stop();
  if (!(await signedIn())) {
    location.assign(`/shows/${encodeURIComponent(event)}`);
    return;
  }
  polling = poll(load, EVERY);
  showPending();
  showAllowance();
}

renderBasket();
start();
