// The membership: its end, or its price.

import './site.js';
import { get, now } from './api.js';
import { Desk } from './desk.js';
import { $, announce, attempt, h, setText, show } from './dom.js';
import { day, money, moment, t } from './i18n.js';
import { Keyed } from './keyed.js';

const form = $('#buy');
const payment = new Keyed('membership');

let price = 0;

async function load() {
  const { memberships, price: due } = await get('/api/me/memberships');
  show($('#desk'));
  price = due;
  const until = Math.max(0, ...memberships.filter(({ status }) => status === 'ACTIVE').map(({ expiresAt }) => Date.parse(expiresAt)));
  const pending = memberships.some(({ status }) => status === 'PENDING');
  const state = until > now() ? 'ACTIVE' : pending ? 'PENDING' : 'NONE';
  const before = $('#pass').dataset.state;
  $('#pass').dataset.state = state;
  setText($('#state'), { ACTIVE: t('memberships.active'), PENDING: t('memberships.pending'), NONE: t('memberships.none') }[state]);
  setText($('#state-text'), { ACTIVE: t('memberships.until', { time: day(new Date(until)) }), PENDING: t('memberships.pending.text'), NONE: '' }[state]);
  if (before && before !== state) {
    announce(`${$('#state').textContent}. ${$('#state-text').textContent}`);
    if (form.contains(document.activeElement)) $('#state').focus();
  }
  setText($('#price'), t('memberships.price', { amount: money(price) }));
  show(form, state === 'NONE');
  $('#past').replaceChildren(...memberships.map(draw));
  show($('#past-part'), memberships.length > 0);
  return pending ? 1000 : 15000;
}

function draw({ amount, status, createdAt, expiresAt }) {
  return h('li', {}, h('div', { class: 'what' }, h('p', { class: 'states' },
    h('span', { class: 'state', 'data-state': status === 'CANCELLED' ? 'FAILED' : status }, t(`membership.state.${status}`, { time: expiresAt ? day(new Date(expiresAt)) : '' })),
    h('span', {}, money(amount)), h('span', { class: 'fine' }, moment(new Date(createdAt))))));
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  await attempt($('[type=submit]', form), $('#problem'), async () => {
    await payment.ask('/api/memberships', { amount: price, card: $('#card').value });
    announce(t('memberships.sent'));
  });
  desk.now();
});

const desk = new Desk(load, { every: 5000, why: t('memberships.signin.text'), parts: ['#desk'] });
