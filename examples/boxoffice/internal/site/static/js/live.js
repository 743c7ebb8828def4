// The live stream of a member: one EventSource per tab. An evicted tab takes another
// tab's place when the member asks for it, and a free place when it comes to the
// front. A tab that is hidden for a while gives its place back. While there are no
// streams the page says so, and the browser comes back.

import { Unreachable, post } from './api.js';
import { whenUp } from './connection.js';
import { session } from './session.js';

const HIDDEN = 30000; // ms until a hidden tab gives its place back
const SILENCE = 60000; // ms without a sign of life: three pings
const LEAVING = 5000; // ms within which a page that is being left is gone
const KEY = 'boxoffice.stream';

// live tells "state", "notification", "chat", and "gap" when the stream has left
// something out. Its state is one of
//
//	off         without a sign-in, or in a hidden tab
//	connecting  on the way
//	live
//	fallback    there are no streams at present
//	evicted     the member has more tabs than streams
export const live = new EventTarget();
live.state = 'off';

let source = null;
let opening = false;
let tries = 0;
let retrying = 0;
let hiding = 0;
let silent = 0;
let settling = 0;
let leaving = 0; // until when the page is being left

function turn(state) {
  if (live.state === state) return;
  live.state = state;
  live.dispatchEvent(new Event('state'));
}

// Where this tab is, so that the next page goes on from there.
const place = {
  get last() {
    try {
      const { member, id } = JSON.parse(sessionStorage.getItem(KEY) ?? '{}');
      return member === session.memberId ? id : '';
    } catch {
      return '';
    }
  },
  set last(id) { sessionStorage.setItem(KEY, JSON.stringify({ member: session.memberId, id })); },
};

function close(state) {
  for (const timer of [retrying, silent, settling]) clearTimeout(timer);
  source?.close();
  source = null;
  turn(state);
}

async function open() {
  if (opening || source || !session.signedIn || document.hidden || live.state === 'evicted') return;
  if (live.state !== 'fallback') turn('connecting');
  await ask({});
}

// ask opens a stream. A polite one, with a place that is free, changes nothing when
// there is none.
async function ask(polite) {
  opening = true;
  clearTimeout(retrying);
  const member = session.memberId;
  try {
    const { ticket } = await post('/api/notifications/ticket', {});
    if (member === session.memberId && !document.hidden) listen({ ticket, ...polite });
  } catch (error) {
    if (polite.place) return;
    if (error instanceof Unreachable) whenUp().then(open);
    else if (error.status !== 401) later();
  } finally {
    opening = false;
  }
}

function listen(how) {
  const query = new URLSearchParams(how);
  if (place.last) query.set('lastEventId', place.last);
  const stream = new EventSource(`/api/notifications/stream?${query}`);
  source = stream;
  alive();
  stream.onopen = () => {
    alive();
    // An office without streams opens one too, and says so in its first event.
    clearTimeout(settling);
    settling = setTimeout(() => {
      tries = 0;
      turn('live');
    }, 250);
  };
  stream.onerror = () => {
    clearTimeout(settling);
    if (stream !== source) return;
    if (stream.readyState === EventSource.CLOSED) {
      if (how.place && live.state === 'evicted') close('evicted');
      else refused(stream.url);
    } else if (live.state === 'live') {
      turn('connecting'); // the browser comes back by itself
    }
  };
  const on = (name, listener) => stream.addEventListener(name, (event) => {
    if (stream !== source) return;
    alive();
    if (event.lastEventId) place.last = event.lastEventId;
    listener(event);
  });
  on('ping', () => {});
  on('evicted', () => close('evicted'));
  on('gap', () => live.dispatchEvent(new Event('gap')));
  on('fallback', () => {
    clearTimeout(settling);
    clearTimeout(silent);
    turn('fallback');
  });
  for (const name of ['notification', 'chat']) {
    on(name, (event) => {
      try {
        live.dispatchEvent(new CustomEvent(name, { detail: JSON.parse(event.data) }));
      } catch {
        // An event that cannot be read is in the inbox, or in the room.
      }
    });
  }
}

// alive opens another stream when the connection is dead without an error.
function alive() {
  clearTimeout(silent);
  silent = setTimeout(() => {
    close('connecting');
    open();
  }, SILENCE);
}

// refused finds out why the browser has given up: an EventSource does not tell.
// The same address once more is the same tab: 204 says that it was evicted, or that
// no place is free. A page that is being left has its stream ended by some browsers
// before it is gone: it asks for none, unless it stays after all.
async function refused(address) {
  close('connecting');
  if (leaving > performance.now()) {
    retrying = setTimeout(open, leaving - performance.now());
    return;
  }
  const asked = new AbortController();
  let status = 0;
  try {
    ({ status } = await fetch(address, { headers: { Accept: 'text/event-stream' }, cache: 'no-store', signal: asked.signal }));
  } catch {
    // No answer; asked again like any other refusal.
  }
  asked.abort();
  if (source || opening || !session.signedIn) return;
  if (status === 204) close('evicted');
  else later();
}

// later tries again, less and less often, and not all tabs at once.
function later() {
  turn('fallback');
  tries += 1;
  retrying = setTimeout(open, Math.min(60000, 2000 * 2 ** tries) * (0.5 + Math.random()));
}

// open may be called at any time: it does nothing while there is a stream, nor in a
// tab that was evicted.
live.open = open;

// here takes a place from whichever tab has had it longest.
live.here = () => {
  if (live.state === 'evicted') turn('connecting');
  open();
};

// front is for a tab that was evicted and is looked at again: it takes a place that
// has become free, and no other tab's.
function front() {
  if (live.state === 'evicted' && !opening && !source && session.signedIn) ask({ place: 'free' });
}

// leave gives the place back, unless it is another tab's already.
const leave = () => { if (live.state !== 'evicted') close('off'); };

session.changes.addEventListener('change', () => close('off'));
document.addEventListener('visibilitychange', () => {
  clearTimeout(hiding);
  if (document.hidden) hiding = setTimeout(leave, HIDDEN);
  else front();
});
addEventListener('beforeunload', () => { leaving = performance.now() + LEAVING; });
addEventListener('pagehide', leave);
addEventListener('pageshow', (event) => {
  leaving = 0;
  if (event.persisted) open();
});
