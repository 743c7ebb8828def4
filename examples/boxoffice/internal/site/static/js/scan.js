// The door: a code is judged by the office, or by its public keys while the office does
// not answer.

import './site.js';
import { Problem, Unreachable, get, post } from './api.js';
import { Camera, canRead } from './camera.js';
import { $, h, show, tell } from './dom.js';
import { moment, t, time } from './i18n.js';
import { refuses } from './keyed.js';
import { genuine } from './offlinecheck.js';

const KEY = 'boxoffice.admin';
const HISTORY = 20;
const field = $('#code');
const shows = $('#show');
const nameOf = (id) => [...shows.options].find(({ value }) => value === id)?.textContent ?? id;

let token = sessionStorage.getItem(KEY) ?? '';
let keys = []; // public ones
let unanswered = null; // the request whose outcome is not known: repeated under its key, it finds what it found
let checking = false;

async function open() {
  try {
    await get('/api/admin/invariants?recent=true', { token }); // is it the token?
    ({ keys } = await get('/api/tickets/keys'));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    sessionStorage.removeItem(KEY);
    show($('#board'), false);
    show($('#token-form'));
    tell($('#token-problem'), error);
    $('#token').focus();
    return;
  }
  sessionStorage.setItem(KEY, token);
  show($('#token-form'), false);
  show($('#board'));
  field.focus();
  const camera = await canRead();
  show($('#camera'), camera);
  show($('#camera-none'), !camera);
}

async function check(code) {
  if (checking) return;
  checking = true;
  const eventId = shows.value;
  if (unanswered?.code !== code || unanswered.eventId !== eventId) unanswered = { code, eventId, key: crypto.randomUUID() };
  try {
    const found = await post('/api/admin/scan', { code, eventId }, { token, headers: { 'Idempotency-Key': unanswered.key } });
    unanswered = null;
    say(found.status, found.seatId, t(`scan.${found.status}.text`, { time: found.usedAt ? moment(new Date(found.usedAt)) : '', show: nameOf(found.eventId) }));
  } catch (error) {
    if (error instanceof Unreachable) await alone(code, eventId);
    else if (!(error instanceof Problem)) throw error;
    else {
      if (refuses(error)) unanswered = null;
      if (error.status === 401 || error.status === 403) {
        token = '';
        await open();
      } else if (error.type === 'code-refused') say('REFUSED', '', t(`scan.refused.${error.body.reason}`));
      else say('REFUSED', '', `${error.title} ${error.detail}`.trim());
    }
  } finally {
    checking = false;
  }
}

// alone judges without the office.
async function alone(code, eventId) {
  const ticket = await genuine(code, keys);
  if (!ticket) say('REFUSED', '', t('scan.refused.malformed'));
  else if (ticket.show !== eventId) say('OTHER_SHOW', ticket.seat, t('scan.OTHER_SHOW.text', { show: nameOf(ticket.show) }));
  else say('GENUINE', ticket.seat, t('scan.GENUINE.text'));
}

// say replaces the verdict, so that the same one is heard again.
function say(status, seat, text) {
  $('#verdict').replaceChildren(h('div', { 'data-verdict': status },
    h('strong', {}, t(`scan.${status}`)), seat && h('p', { class: 'seat' }, t('codes.seat', { seat })), h('p', {}, text)));
  $('#history').prepend(h('li', {}, h('span', { class: 'state', 'data-verdict': status }, t(`scan.${status}`)), h('span', {}, seat && t('codes.seat', { seat })), h('span', { class: 'fine' }, time(new Date()))));
  while ($('#history').children.length > HISTORY) $('#history').lastElementChild.remove();
  show($('#history-part'));
}

$('#token-form').addEventListener('submit', (event) => {
  event.preventDefault();
  token = $('#token').value.trim();
  tell($('#token-problem'), null);
  if (token) open();
});

$('#scan').addEventListener('submit', async (event) => {
  event.preventDefault();
  const code = field.value.trim();
  field.focus();
  if (code === '') {
    say('REFUSED', '', t('scan.empty'));
    return;
  }
  await check(code);
  // The next scan replaces this one; after a lost answer Enter repeats it.
  field.select();
});

const camera = new Camera($('#view'), check);
$('#camera').addEventListener('click', async () => {
  tell($('#camera-problem'), null);
  if (camera.on) camera.stop();
  else {
    try {
      await camera.start();
    } catch {
      camera.stop();
      tell($('#camera-problem'), { title: t('scan.camera.refused') });
    }
  }
  show($('#view'), camera.on);
  $('#camera').textContent = t(camera.on ? 'scan.camera.stop' : 'scan.camera');
});
addEventListener('pagehide', () => camera.stop());

if (token) open();
