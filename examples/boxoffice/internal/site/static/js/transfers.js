// Transfers: offers to accept or decline, offers to withdraw, and a ticket to offer.

import './site.js';
import { get, post } from './api.js';
import { bySeat } from './booking.js';
import { Desk } from './desk.js';
import { $, announce, attempt, h, keep, setText, show, tell } from './dom.js';
import { money, moment, t } from './i18n.js';
import { Keyed } from './keyed.js';
import { session } from './session.js';
import { titleOf } from './shows.js';

const form = $('#offer');
const choice = $('#ticket');
const payment = new Keyed('transfer');
const rows = new Map(); // transfer id → { element, state }

let tickets = []; // that can be offered
let wanted = new URLSearchParams(location.search).get('ticket'); // until it was chosen
async function load() {
  const [{ transfers }, { tickets: mine }] = await Promise.all([get('/api/me/transfers'), get('/api/me/tickets')]);
  show($('#desk'));
  const me = session.memberId;
  const open = transfers.filter(({ status }) => status === 'OFFERED' || status === 'ACCEPTED');
  await fill($('#received'), open.filter(({ toMemberId }) => toMemberId === me));
  show($('#received-none'), !$('#received').childElementCount);
  await fill($('#sent'), open.filter(({ fromMemberId }) => fromMemberId === me));
  show($('#sent-part'), $('#sent').childElementCount > 0);
  await fill($('#past'), transfers.filter((transfer) => !open.includes(transfer)));
  show($('#past-part'), $('#past').childElementCount > 0);
  await offerable(mine, open);
  return open.some(({ status }) => status === 'ACCEPTED') ? 1500 : 8000;
}

// fill keeps the elements of transfers that have not changed, and with them the focus.
async function fill(list, transfers) {
  const elements = [];
  for (const transfer of transfers) {
    const state = JSON.stringify(transfer);
    const old = rows.get(transfer.transferId);
    const element = old?.state === state ? old.element : draw(transfer, await titleOf(transfer.eventId));
    rows.set(transfer.transferId, { element, state });
    elements.push(element);
  }
  keep(list, elements);
}

function draw(transfer, title) {
  const { transferId, fromMemberId, toMemberId, amount, status, reason, expiresAt } = transfer;
  const received = toMemberId === session.memberId;
  const member = received ? fromMemberId : toMemberId;
  const seats = [...transfer.seatIds].sort(bySeat);
  const said = { title, member, seats: seats.join(', ') };
  const button = (name, kind) => h('button', { type: 'button', class: `button ${kind}`, 'aria-label': t(`transfer.${name}.label`, said), onclick: ({ currentTarget }) => decide(transferId, name, currentTarget) }, t(`transfer.${name}`));
  return h('li', { 'data-transfer': transferId },
    h('div', { class: 'what' },
      h('h3', {}, title),
      h('p', { class: 'chips' }, ...seats.map((seat) => h('span', {}, seat))),
      h('p', { class: 'states' },
        h('span', { class: 'state', 'data-state': status }, t(`transfer.state.${status === 'CANCELLED' ? reason : status}`)),
        h('span', {}, t(received ? 'transfer.from' : 'transfer.to', { member })), h('span', {}, money(amount)),
        status === 'OFFERED' && h('span', { class: 'fine' }, t('transfer.until', { time: moment(new Date(expiresAt)) })))),
    status === 'OFFERED' && h('p', { class: 'actions' }, ...(received ? [button('accept', 'primary'), button('decline', '')] : [button('withdraw', '')])));
}

const done = { accept: 'transfer.accepted', decline: 'transfer.declined', withdraw: 'transfer.withdrawn' };

async function decide(id, name, button) {
  await attempt(button, $('#problem'), async () => {
    await post(`/api/transfers/${encodeURIComponent(id)}/${name}`, undefined, { repeat: true });
    announce(t(done[name]));
  });
  // The button goes away: its focus goes to the heading above it.
  button.closest('section').querySelector('h2').focus();
  desk.now();
}

// offerable lists the tickets that can be offered, and leaves the choice as it is.
async function offerable(mine, open) {
  const busy = new Set(open.map(({ reservationId }) => reservationId));
  tickets = mine.filter(({ reservationId, status, refund, used }) => status === 'CONFIRMED' && !used && refund !== 'REQUESTED' && !busy.has(reservationId));
  const options = [];
  for (const { reservationId, eventId, seatIds } of tickets) {
    options.push([reservationId, t('transfers.ticket.option', { title: await titleOf(eventId), seats: [...seatIds].sort(bySeat).join(', ') })]);
  }
  show(form, tickets.length > 0);
  show($('#nothing'), tickets.length === 0);
  if (JSON.stringify(options) !== choice.dataset.options) {
    const before = wanted ?? choice.value;
    choice.dataset.options = JSON.stringify(options);
    choice.replaceChildren(...options.map(([value, text]) => h('option', { value }, text)));
    if (options.some(([value]) => value === before)) {
      choice.value = before;
      if (wanted) $('#to').focus();
      wanted = null;
    }
  }
  price();
}

function price() {
  const ticket = tickets.find(({ reservationId }) => reservationId === choice.value);
  if (ticket) setText($('#price'), t('transfers.price', { amount: money(ticket.amount) }));
}
choice.addEventListener('change', price);

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const to = $('#to');
  const toMemberId = to.value.trim();
  const ticket = tickets.find(({ reservationId }) => reservationId === choice.value);
  const bad = toMemberId === '' || toMemberId === session.memberId || !to.checkValidity();
  to.setAttribute('aria-invalid', String(bad));
  if (bad || !ticket) {
    tell($('#offer-problem'), { title: t('transfers.to.invalid') });
    to.focus();
    return;
  }
  await attempt($('[type=submit]', form), $('#offer-problem'), async () => {
    await payment.ask('/api/transfers', { reservationId: ticket.reservationId, toMemberId, amount: ticket.amount, card: $('#card').value });
    to.value = '';
    announce(t('transfers.sentto', { member: toMemberId }));
    show($('#sent-part'));
    $('#sent-title').focus();
  });
  desk.now();
});

const desk = new Desk(load, { every: 4000, why: t('transfers.signin.text'), parts: ['#desk'] });
