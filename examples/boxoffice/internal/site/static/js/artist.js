// One artist of the mirror: the known data, its freshness, and the progress of a
// refresh.

import './site.js';
import { Problem, get, post } from './api.js';
import { label, worded } from './attributes.js';
import { $, announce, attempt, h, setText, show, tell } from './dom.js';
import { facts } from './facts.js';
import { ago, number, t, tn } from './i18n.js';
import { poll } from './poll.js';
import { session, signedIn } from './session.js';

const SOON = 600; // ms until the first look at a refresh that is under way
const LATEST = 5000; // and at most, after a while
const RARELY = 60000; // while nothing is to be expected
const SHOWN = 24; // values of a group

const { id } = document.body.dataset;

let state = ''; // what is shown
let delay = SOON;
let times = {}; // what the clocks on the page count from
let wish = null; // the artist as it was when a refresh was asked for
let polling;

async function look() {
  let artist;
  try {
    artist = await get(`/api/artists/${encodeURIComponent(id)}`);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    tell($('#problem'), error);
    if (error.status !== 400 && error.status !== 404 && error.type !== 'artists-off') throw error;
    for (const part of ['#freshness', '#wait', '#explain', '#again']) show($(part), false);
    return false; // no later answer is another
  }
  tell($('#problem'), null);
  fill(artist);
  if (turn(standing(artist))) delay = SOON;
  settle(artist);
  if (!artist.updateQueued && !wish) return artist.freshness === 'FRESH' || artist.lastCheckedAt ? RARELY : LATEST;
  const wait = delay;
  delay = Math.min(1.5 * delay, LATEST);
  return wait;
}

// standing is the freshness in words. The answer to a first request is NOT_FOUND too,
// because the agency has not been asked yet.
function standing({ freshness, updateQueued, lastCheckedAt, estimatedWaitMs }) {
  const wait = estimatedWaitMs === null ? t('artist.wait.unknown') : tn('artist.wait', Math.max(1, Math.round(estimatedWaitMs / 1000)));
  const is = (key, badge, text, explain, waits = '') => ({ key, badge, text, explain, waits });
  switch (freshness) {
    case 'FRESH': return is('fresh', 'FRESH', t('artist.fresh'), '');
    case 'STALE': return updateQueued ? is('stale', 'STALE', t('artist.stale'), t('artist.stale.text'), wait)
      : is('stale-unasked', 'STALE', t('artist.stale'), t('artist.stale.unasked'));
    case 'UPDATING': return updateQueued ? is('updating', 'UPDATING', t('artist.updating'), t('artist.updating.text'), wait)
      : is('updating-unasked', 'UPDATING', t('artist.updating'), t('artist.unasked'));
    default:
  }
  if (!lastCheckedAt) {
    return updateQueued ? is('first', 'UPDATING', t('artist.first'), t('artist.first.text'), wait)
      : is('unasked', 'NOT_FOUND', t('artist.none'), t('artist.unasked'));
  }
  return updateQueued ? is('missing-asked', 'NOT_FOUND', t('artist.none'), t('artist.missing.asked'), wait)
    : is('missing', 'NOT_FOUND', t('artist.none'), t('artist.missing'));
}

// turn shows a standing, and reports whether it is another one.
function turn({ key, badge, text, explain, waits = '' }) {
  setText($('#wait-text'), waits);
  show($('#wait'), waits !== '');
  if (state === key) return false;
  const chip = $('#freshness');
  chip.dataset.state = badge;
  chip.classList.toggle('turned', state !== '');
  setText(chip, text);
  setText($('#explain'), explain);
  show($('#explain'), explain !== '');
  announce(`${$('#name').textContent}: ${text}. ${explain}`);
  state = key;
  return true;
}

function fill({ snapshot, lastUpdatedAt, lastCheckedAt }) {
  times = { updated: lastUpdatedAt, checked: lastCheckedAt };
  show($('#times'), Boolean(lastUpdatedAt || lastCheckedAt));
  tick();
  for (const part of ['#level', '#attributes']) show($(part), Boolean(snapshot));
  if (!snapshot) {
    show($('#bio'), false);
    return;
  }
  setText($('#name'), snapshot.name);
  document.title = `${snapshot.name} · ${t('site.name')}`;
  setText($('#level'), t('artist.level', { n: number(snapshot.level) }));
  const version = JSON.stringify(snapshot.attributes);
  if ($('#attributes').version !== version) attributes(snapshot.attributes ?? {});
  $('#attributes').version = version;
}

// refresh asks for a refresh unless one is pending, and shows the result.
async function refresh() {
  if (!session.signedIn && !await signedIn(t('artist.refresh.signin'))) return;
  const button = $('#refresh');
  const asked = await attempt(button, $('#refresh-problem'), async () => {
    const { status, estimatedWaitMs } = await post(`/api/artists/${encodeURIComponent(id)}/refresh`, undefined, { repeat: true });
    wish = status === 'CHECKED' ? null : { ...times };
    const wait = estimatedWaitMs === null ? t('artist.wait.unknown') : tn('artist.wait', Math.max(1, Math.round(estimatedWaitMs / 1000)));
    say(t(`artist.refresh.${status.toLowerCase()}`, { wait }));
    delay = SOON;
    polling.now();
  });
  if (!asked) say('');
  button.focus();
}

// settle shows the result of a refresh.
function settle({ snapshot, lastCheckedAt, lastUpdatedAt, updateQueued }) {
  show($('#again'), Boolean(snapshot) || !lastCheckedAt && !updateQueued);
  if (!wish || !lastCheckedAt || lastCheckedAt === wish.checked) return;
  say(lastUpdatedAt === wish.updated ? t('artist.refresh.same') : t('artist.refresh.changed'));
  wish = null;
}

function say(text) {
  setText($('#refresh-said'), text);
  if (text !== '') announce(text);
}

// attributes shows short values as facts, the longest text as a paragraph, and
// groups of values below, closed.
function attributes(values) {
  const entries = Object.entries(values);
  const isGroup = ([, value]) => value !== null && typeof value === 'object';
  const isLong = ([, value]) => typeof value === 'string' && value.length > 80;
  const longest = entries.filter(isLong).sort(([, a], [, b]) => b.length - a.length)[0];
  show($('#bio'), Boolean(longest));
  setText($('#bio'), longest?.[1] ?? '');
  facts($('#facts'), worded(entries.filter((entry) => !isGroup(entry) && entry !== longest)));
  $('#groups').replaceChildren(...entries.filter(isGroup).map(([name, group]) => {
    const members = Object.entries(group);
    const list = h('dl', { class: 'facts' });
    facts(list, worded(members.slice(0, SHOWN)));
    const hidden = members.length - SHOWN;
    return h('details', {}, h('summary', {}, `${label(name)} (${number(members.length)})`), list,
      hidden > 0 && h('p', { class: 'fine' }, t('artist.more', { n: number(hidden) })));
  }));
}

function tick() {
  for (const [name, at] of Object.entries(times)) {
    const element = $(`#${name}`);
    setText(element, at ? ago(new Date(at)) : '–');
    if (!at || element.dateTime === at) continue;
    element.dateTime = at;
    element.title = new Date(at).toLocaleString(document.documentElement.lang);
  }
}

if (id) {
  polling = poll(look, SOON);
  $('#refresh').addEventListener('click', refresh);
  setInterval(tick, 5000);
}
