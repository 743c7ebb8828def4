// The waiting view in front of an event. While admission is immediate it is
// seen for a moment only; with a line it shows the place in it.

import './site.js';
import { Problem } from './api.js';
import { $, announce, setText, show } from './dom.js';
import { entry } from './entry.js';
import { number, t, time, tn } from './i18n.js';
import { poll } from './poll.js';
import { signedIn } from './session.js';

const event = document.body.dataset.event;
const progress = $('#progress');

let first = null; // the place at which we joined
let milestone = null; // what was last announced
let looking = null;

function stop(title, text) {
  show($('#line'), false);
  show($('#again'));
  setText($('#headline'), title);
  setText($('#explain'), text);
  $('#waiting').classList.add('still');
}

// waitText gives the estimate as a range: a single number would be a promise.
function waitText(seconds) {
  if (seconds === null || seconds === undefined) return t('queue.wait.unknown');
  if (seconds < 60) return t('queue.wait.soon');
  const low = Math.max(1, Math.floor(seconds / 60));
  return t('queue.wait.range', { low: number(low), high: number(Math.ceil(low * 1.5 + 0.5)) });
}

function waiting(place) {
  first ??= Math.max(place.position, 1);
  show($('#line'));
  setText($('#headline'), t('queue.headline'));
  setText($('#explain'), t('queue.explain'));
  setText($('#ahead'), number(place.peopleAhead ?? place.position - 1));
  setText($('#behind'), number(place.peopleBehind ?? 0));
  setText($('#wait'), waitText(place.estimatedWait));
  setText($('#updated'), t('queue.updated', { time: time(new Date()) }));
  // The bar never goes back, whatever the numbers do.
  progress.value = Math.max(progress.value, 100 * (1 - place.position / (first + 1)));
  const quarter = Math.floor(progress.value / 25);
  if (quarter !== milestone) {
    milestone = quarter;
    announce(`${tn('queue.announce', place.peopleAhead ?? place.position - 1)} ${waitText(place.estimatedWait)}`);
  }
}

async function look() {
  let place;
  try {
    place = await entry.check(event);
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    if (problem.status === 401) {
      start();
      return false;
    }
    if (problem.status === 503) return 5000;
    stop(problem.title, problem.detail);
    return false;
  }
  if (place.status === 'active') {
    setText($('#headline'), t('queue.entering'));
    show($('#line'), false);
    location.replace(`/events/${encodeURIComponent(event)}`);
    return false;
  }
  waiting(place);
  return Math.max(1, place.nextPoll || 3) * 1000;
}

async function start() {
  show($('#again'), false);
  $('#waiting').classList.remove('still');
  looking?.stop();
  if (!(await signedIn())) {
    stop(t('queue.signin.title'), t('queue.signin.text'));
    return;
  }
  looking = poll(look, 3000);
}

$('#retry').addEventListener('click', start);
$('#leave').addEventListener('click', async () => {
  looking?.stop();
  try {
    await entry.leave(event);
  } finally {
    location.assign(`/shows/${encodeURIComponent(event)}`);
  }
});
start();
