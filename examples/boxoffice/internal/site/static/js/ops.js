// The operator's page: the box office's figures about itself, once a second.

import './site.js';
import { AdmissionsPanel } from './admissions.js';
import { Problem, get } from './api.js';
import { BudgetPanel } from './budget.js';
import { DeadLetters } from './deadletters.js';
import { $, h, setText, show, tell } from './dom.js';
import { facts } from './facts.js';
import { GroupsPanel } from './groups.js';
import { number, t, time } from './i18n.js';
import { ChatPanel, StreamsPanel } from './livepanels.js';
import { poll } from './poll.js';
import { RoomsPanel } from './rooms.js';
import { Sparkline } from './sparkline.js';

const KEY = 'boxoffice.admin';
const spark = new Sparkline($('#spark'), 120, (now) => t('ops.spark.now', now));
const budget = new BudgetPanel();
const streams = new StreamsPanel();
const talk = new ChatPanel();

let token = sessionStorage.getItem(KEY) ?? '';
let polling = null;
let paused = false;
let last = null; // the sample before, for rates
const desk = { token: () => token, changed: () => { if (!paused) polling?.now(); } };
const dead = new DeadLetters(desk);
new GroupsPanel(desk); // it asks when its button is pressed
const rooms = new RoomsPanel(desk);
const admissions = new AdmissionsPanel(desk);

async function look() {
  if (paused) return 1000;
  const asked = performance.now();
  let ops;
  let invariants;
  try {
    [ops, invariants] = await Promise.all([get('/api/admin/ops', { token }), get('/api/admin/invariants?recent=true', { token })]);
  } catch (error) {
    pulse('lost', t('ops.lost'));
    if (error instanceof Problem && (error.status === 401 || error.status === 403)) {
      refuse(error);
      return false;
    }
    throw error;
  }
  if (paused) return 1000; // since it asked
  sessionStorage.setItem(KEY, token);
  show($('#token-form'), false);
  show($('#board'));
  show($('#pause'));
  pulse('live', t('ops.live', { time: time(new Date()) }));
  outbox(ops.outbox);
  rooms.update(ops.rooms, asked);
  admissions.look();
  budget.update(ops.budget);
  streams.update(ops.streams);
  talk.update(ops.chat);
  verdict(invariants);
  consumers(ops.consumers ?? [], ops.lag);
  dead.update(ops.deadLetters ?? []);
  facts($('#stats'), ops.stats ?? {});
  facts($('#gateway'), ops.gateway ?? {});
  return 1000;
}

function refuse(error) {
  sessionStorage.removeItem(KEY);
  token = '';
  show($('#board'), false);
  show($('#pause'), false);
  show($('#token-form'));
  tell($('#token-problem'), error);
  $('#token').focus();
}

function pulse(state, text) {
  $('#pulse').className = `dot ${state}`;
  setText($('#pulse-text'), text);
}

function outbox(box) {
  const at = performance.now();
  const rate = last ? Math.max(0, (1000 * (box.published - last.published)) / (at - last.at)) : 0;
  last = { published: box.published, at };
  setText($('#backlog'), number(box.backlog));
  $('#backlog').classList.toggle('hot', box.backlog > 0);
  spark.add(box.backlog);
  facts($('#outbox-facts'), {
    [t('ops.oldest')]: box.backlog > 0 ? t('ops.seconds', { n: number(Math.round(10 * box.oldestAgeSeconds) / 10) }) : '–',
    [t('ops.published')]: box.published,
    [t('ops.rate')]: t('ops.persecond', { n: number(Math.round(rate)) }),
    [t('ops.failed')]: box.failed,
    [t('ops.holder')]: box.holder || t('ops.nobody'),
  });
}

// aged says how old a figure is that does not come from this very moment.
const aged = (seconds) => t('ops.asof', { n: number(Math.round(seconds)) });

// The last audit stands until the next one; one that is not there yet, or whose
// successors failed, is not shown as if it were.
function verdict({ ok, quiescent, checks, ageSeconds, error }) {
  const element = $('#verdict');
  const none = ageSeconds === null;
  element.dataset.ok = none ? 'moving' : ok ? 'yes' : quiescent ? 'no' : 'moving';
  setText(element, none ? t('ops.inv.none') : ok ? t('ops.inv.ok') : quiescent ? t('ops.inv.broken') : t('ops.inv.moving'));
  setText($('#verdict-age'), [none || ageSeconds === undefined ? '' : aged(ageSeconds), error && t('ops.inv.error', { error })].filter(Boolean).join(' · '));
  $('#checks').replaceChildren(...(checks ?? []).map((check) => h('li', { 'data-ok': check.ok ? 'yes' : quiescent ? 'no' : 'moving' },
    h('b', {}, check.name),
    h('span', { class: 'sr-only' }, check.ok ? t('ops.check.ok') : t('ops.check.no')),
    check.detail && h('small', {}, check.detail))));
}

function lagText(lag) {
  switch (lag?.state) {
    case 'known': return t('ops.lag.known', { age: aged(lag.ageSeconds) });
    case 'stale': return t('ops.lag.stale', { age: aged(lag.ageSeconds) });
    case 'unknown': return t('ops.lag.unknown');
    case 'unsupported': return t('ops.lag.unsupported');
    default: return '';
  }
}

function consumers(list, lag) {
  setText($('#lag-age'), lagText(lag));
  $('#lag-age').dataset.state = lag?.state ?? '';
  const body = $('#consumers');
  body.replaceChildren(...list.flatMap((c) => {
    // The actions of other processes are not known here.
    const done = c.state === 'elsewhere' ? [null, null, null, null] : [c.inFlight, c.handled, c.retried, c.deadLettered];
    const cells = [...done, c.lag].map((n, i) =>
      h('td', { class: `n${i === 3 && n > 0 ? ' warm' : ''}` }, n === null || n === undefined ? '–' : number(n)));
    const row = h('tr', {}, h('td', {}, h('code', {}, c.topic)), h('th', { scope: 'row' }, h('code', {}, c.group)),
      h('td', {}, h('span', { class: 'state', 'data-state': c.state }, stateText(c.state))), ...cells);
    if (!c.lastError) return [row];
    return [row, h('tr', { class: 'error' }, h('td', { colSpan: 8 }, t('ops.lasterror'), ' ', h('code', {}, c.lastError)))];
  }));
  if (list.length === 0) body.append(h('tr', {}, h('td', { colSpan: 8, class: 'hint' }, t('ops.consumers.none'))));
}

const stateText = (state) =>
  ({ running: t('ops.state.running'), paused: t('ops.state.paused'), stopped: t('ops.state.stopped'), elsewhere: t('ops.state.elsewhere') })[state] ?? state;

function start() {
  polling?.stop();
  tell($('#token-problem'), null);
  polling = poll(look, 1000);
}

$('#token-form').addEventListener('submit', (event) => {
  event.preventDefault();
  token = $('#token').value.trim();
  if (token) start();
});
$('#pause').addEventListener('click', () => {
  paused = !paused;
  setText($('#pause'), paused ? t('ops.resume') : t('ops.pause'));
  if (paused) pulse('idle', t('ops.paused'));
  else polling.now();
});
if (token) start();
else $('#token').focus();
