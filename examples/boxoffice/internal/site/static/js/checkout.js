// The checkout page. It shows one of the views of its template, chosen only by the
// API's answer about the reservation and its payment.

import './site.js';
import { Problem, Unreachable, get, now, post, remove } from './api.js';
import { bySeat, loadCheckout, saveCheckout } from './booking.js';
import { confirmed } from './confirm.js';
import { $, $$, announce, attempt, h, setText, show, tell } from './dom.js';
import { entry, roomAddress } from './entry.js';
import { clock, money, t } from './i18n.js';
import { poll } from './poll.js';
import { signedIn } from './session.js';
import { titleOf } from './shows.js';

const HOLD = 5 * 60 * 1000; // how long a hold lasts, for the ring
const SLOW = 8000; // after this a bank is called slow
const MILESTONES = [120, 60, 30, 10]; // seconds left that are announced
const TEST_CARDS = $$('[name=test]').map((radio) => radio.value);

const id = document.body.dataset.id;
const root = $('#checkout');
const form = $('#pay');
const cardField = $('#card');
const payProblem = $('#pay-problem');

let reservation = null;
let payment = null;
let sending = false; // a payment request is on its way
let sentAt = 0;
let view = 'loading';
let polling = null;

// reservationNow asks for the reservation; its own route wants a place in the
// house, which may have ended since, the list of tickets does not.
async function reservationNow() {
  const { eventId } = loadCheckout(id);
  if (eventId && entry.known(eventId)) {
    try {
      return await get(`/api/reservations/${encodeURIComponent(id)}`, { headers: entry.headers(eventId) });
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 403) throw error;
      entry.forget(eventId);
    }
  }
  const { tickets } = await get('/api/me/tickets');
  return tickets.find((ticket) => ticket.reservationId === id) ?? null;
}

async function refresh() {
  try {
    reservation = await reservationNow();
    const paymentId = reservation?.paymentId || loadCheckout(id).paymentId;
    if (paymentId) {
      payment = await get(`/api/payments/${encodeURIComponent(paymentId)}`);
      saveCheckout(id, { paymentId, sent: true });
    }
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.status === 401) {
      askToSignIn();
      return false;
    }
    if (error.status !== 404) throw error;
    if (reservation === null) {
      render();
      return false;
    }
  }
  if (reservation === null) {
    render();
    return false;
  }
  const { sent, test } = saveCheckout(id, { eventId: reservation.eventId });
  if (!payment && sent && !sending && reservation.status === 'PENDING' && test) pay(test);
  return render();
}

// viewNow is the whole logic of the page: the view of each state.
function viewNow() {
  if (reservation === null) return 'missing';
  const { status, reason } = reservation;
  switch (payment?.status) {
    case 'PROCESSING': return 'processing';
    case 'FAILED': return 'failed';
    case 'REFUNDED': return 'refunded';
    case 'SUCCESS': return { CONFIRMED: 'done', CANCELLED: 'late' }[status] ?? 'issuing';
    default:
  }
  if (status === 'CONFIRMED') return 'done';
  if (status === 'CANCELLED') return reason === 'HOLD_TIMEOUT' ? 'expired' : 'cancelled';
  return sending ? 'processing' : 'pay';
}

// How soon each view asks again; the others are final.
const pace = { pay: 4000, processing: 700, issuing: 500, late: 2000 };

function render() {
  const next = viewNow();
  if (next !== view) {
    const first = view === 'loading';
    view = next;
    root.dataset.view = view;
    for (const section of $$('[data-for]')) show(section, section.dataset.for === view);
    const heading = $(`[data-for=${view}] h1`);
    if (!first) heading.focus({ preventScroll: true });
    if (!first) scrollTo({ top: 0 });
    announce(heading.textContent);
    if (view === 'pay' || view === 'done') showAllowance(reservation.eventId);
  }
  if (view === 'done') makeRoom(reservation.eventId);
  renderReceipt();
  const { sent, test } = loadCheckout(id);
  if (view === 'pay') show($('#unsure'), Boolean(sent) && !test);
  if (view === 'processing') show($('#slow'), sentAt > 0 && Date.now() - sentAt > SLOW);
  if (view === 'processing') show($('#kept'), Date.parse(reservation.holdExpiresAt) <= now());
  if (view === 'failed') {
    const reason = { card_declined: t('reason.declined') }[payment.failureReason] ?? payment.failureReason;
    show($('#failed-reason'), Boolean(reason));
    setText($('#failed-reason'), t('checkout.failed.reason', { reason }));
  }
  return pace[view] ?? false;
}

// makeRoom gives back the place inside once there is a ticket, because others wait
// for it. Errors are ignored: the place also ends by itself.
async function makeRoom(event) {
  if (!entry.known(event)) return;
  try {
    await entry.leave(event);
  } catch (error) {
    if (!(error instanceof Problem) && !(error instanceof Unreachable)) throw error;
  }
}

function renderReceipt() {
  show($('.receipt'), reservation !== null);
  if (reservation === null) return;
  const { amount } = reservation;
  const seats = [...reservation.seatIds].sort(bySeat);
  if ($('#seats').childElementCount !== seats.length) $('#seats').replaceChildren(...seats.map((seat) => h('li', {}, seat)));
  setText($('#amount'), money(amount));
  setText($('#pay-go'), t('checkout.payamount', { amount: money(amount) }));
  const art = $('#art');
  if (art.hidden) {
    art.src = `/posters/${encodeURIComponent(reservation.eventId)}`;
    show(art);
  }
  for (const link of $$('[data-seats]')) link.href = roomAddress(reservation.eventId);
  titleOf(reservation.eventId).then((title) => setText($('#event-title'), title));
  renderHold();
}

// showAllowance says how many more seats of the show the member may have after this
// booking.
async function showAllowance(event) {
  const { limits, held, bought } = await get(`/api/shows/${encodeURIComponent(event)}/allowance`);
  setText($('#allowance'), t('checkout.allowance', { max: Math.min(limits.held, limits.bought), held, bought }));
  show($('#allowance'));
}

let announced = Infinity;

function renderHold() {
  const running = view === 'pay';
  show($('#hold'), running);
  if (!running) return;
  const left = Date.parse(reservation.holdExpiresAt) - now();
  setText($('#hold-clock'), clock(left));
  $('#hold-ring').style.strokeDasharray = `${Math.max(0, Math.min(100, (100 * left) / HOLD))} 100`;
  $('#hold').classList.toggle('soon', left < 60000);
  $('#pay-go').disabled = left <= 0;
  setText($('#hold-text'), left > 0 ? t('checkout.heldfor') : t('checkout.ending'));
  const mark = MILESTONES.findLast((seconds) => left <= seconds * 1000);
  if (mark !== undefined && mark < announced && left > 0) {
    if (announced !== Infinity || mark < MILESTONES[0]) announce(t('checkout.left', { time: clock(left) }));
    announced = mark;
  }
}

setInterval(() => {
  if (view !== 'pay') return;
  renderHold();
  // The server decides when a hold is over; ask it as soon as it should be.
  if (Date.parse(reservation.holdExpiresAt) - now() <= 0) polling.now();
}, 1000);

async function pay(card) {
  if (sending) return;
  sending = true;
  sentAt = Date.now();
  tell(payProblem, null);
  // Written down before anything is sent: after a crash or a reload the same
  // payment is repeated under the same key. Only a test card is kept.
  const { paymentKey } = saveCheckout(id, { sent: true, test: TEST_CARDS.includes(card) ? card : undefined });
  render();
  try {
    const taken = await post('/api/payments', { reservationId: id, amount: reservation.amount, card }, { repeat: true, headers: { 'Idempotency-Key': paymentKey } });
    // A look at the reservation may have found the payment, and how it ended, before.
    if (payment?.paymentId !== taken.paymentId) payment = taken;
    saveCheckout(id, { paymentId: payment.paymentId });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    // Refused for good. When another tab has paid, that payment is the one.
    saveCheckout(id, { sent: false, test: undefined, paymentId: error.body.paymentId });
    tell(payProblem, error);
  } finally {
    sending = false;
  }
  render();
  polling.now();
}

const digits = (text) => text.replace(/\D/g, '');

form.addEventListener('change', ({ target }) => {
  if (target.name === 'test') cardField.value = target.value.replace(/(.{4})(?=.)/g, '$1 ');
});
cardField.addEventListener('input', () => {
  for (const radio of $$('[name=test]')) radio.checked = radio.value === digits(cardField.value);
});
form.addEventListener('submit', (event) => {
  event.preventDefault();
  const card = digits(cardField.value);
  if (card.length < 12 || card.length > 19) {
    cardField.setAttribute('aria-invalid', 'true');
    tell(payProblem, { title: t('checkout.number.invalid') });
    cardField.focus();
    return;
  }
  cardField.removeAttribute('aria-invalid');
  pay(card);
});

for (const button of $$('[data-cancel]')) {
  button.addEventListener('click', async () => {
    const sure = await confirmed({
      title: t('confirm.release.title'), text: t('confirm.release.text'), yes: t('ticket.release'), no: t('confirm.release.no'),
    });
    if (!sure) return;
    await attempt(button, payProblem, () => remove(`/api/me/tickets/${encodeURIComponent(id)}`, { repeat: true }));
    polling.now();
  });
}

function askToSignIn() {
  view = 'signin';
  root.dataset.view = view;
  for (const section of $$('[data-for]')) show(section, section.dataset.for === view);
}

async function start() {
  polling?.stop();
  if (await signedIn()) polling = poll(refresh, 2000);
  else askToSignIn();
}

$('#signin-again').addEventListener('click', start);
start();
