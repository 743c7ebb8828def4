// The room: waiting for one's turn, and the turn.

// of the last challenge
let proof = '';
let trusted = { createScriptURL: (path) => path };

// prove has a worker solve a newcomer's challenge. Where workers or their script are
// not available, the wait is the answer.
const prove = (challenge) => new Promise((done, fail) => {
  if (self.trustedTypes && !proof) trusted = trustedTypes.createPolicy('solver', trusted);
  const worker = new Worker(trusted.createScriptURL(config.solver));
  const late = setTimeout(fail, patience);
  worker.onmessage = ({ data }) => {
    clearTimeout(late);
    if (data.text) setText($('text'), data.text);
    else done(data.answer);
  };
  worker.onerror = fail;
  worker.postMessage({ ...challenge, lang });
}).catch(() => `wait.${challenge.puzzle}`);

async function step() {
  const inside = state.view === 'turn';
  const { ticket } = place.get();
  const answer = await ask('POST', address(inside ? config.heartbeat : config.check), {
    ...(ticket && { 'x-queue-ticket': ticket }),
    ...(proof && { 'x-queue-challenge': proof }),
  });
  const { body } = answer;
  if (body?.challenge) {
    loop.again(proof && 5);
    proof = await prove(body.challenge);
    return;
  }
  if (loop.task !== step || refused(answer)) return;
  calm();
  if (body.ticket) place.set({ ticket: body.ticket });
  if (body.entryToken && config.entryKey) tab.set(address(config.entryKey, false), body.entryToken);
  if (body.status === 'active') {
    myTurn(body);
  } else if (body.opensIn) {
    // s since 1970
    state.opens = Date.now() / 1000 + body.opensIn;
    show('early');
    loop.again(pollAfter(body));
  } else if (body.status === 'queued') {
    state.behind = Number.isFinite(body.peopleBehind) ? body.peopleBehind : null;
    const places = [body.currentUsers, body.threshold];
    // While a room settles, it counts again.
    state.places = places.every(Number.isInteger) && places[0] >= 0 && places[1] > 0 && !body.settling ? places : null;
    lineUp(body, Number.isFinite(body.peopleAhead) ? body.peopleAhead : Math.max(0, body.position - 1), body.estimatedWait);
  } else {
    forget();
    end('passed');
  }
}

// myTurn takes a newcomer inside at once. After a wait the visitor may
// be elsewhere, and gets a moment.
function myTurn(body) {
  const waited = journey.start > 0;
  if (body.expiresIn > 0) state.deadline = Date.now() + body.expiresIn * 1000;
  if (!waited && state.view !== 'turn' && !document.hidden && enter()) return;
  show('turn');
  countDown();
  loop.again(pollAfter(body));
}

let counting = 0;

// countDown runs while the turn is shown; a visitor in another tab is not moved.
function countDown() {
  clearTimeout(counting);
  if (state.view !== 'turn') return;
  const now = Date.now();
  if (document.hidden || state.stay || config.moveOn < 0 || $('confirm').open) state.moveAt = 0;
  else if (state.moveAt === 0) state.moveAt = now + config.moveOn * 1000;
  if (state.moveAt > 0 && now >= state.moveAt && !state.trouble) {
    if (enter()) return;
    state.stay = true;
    state.moveAt = 0;
  }
  if (state.deadline && !state.warned && state.deadline - now <= 60000) {
    state.warned = true;
    say(t('say.minute'));
  }
  if (state.deadline && now >= state.deadline) {
    state.deadline = 0;
    loop.again(0);
  }
  render();
  counting = setTimeout(countDown, 1000);
}

function enter() {
  const url = destination();
  if (url === null || !goOn(url.pathname + url.search + url.hash, null)) return false;
  tab.drop(drawerKey);
  return true;
}

$('stay').addEventListener('click', () => {
  state.stay = true;
  countDown();
});
$('enter-now').addEventListener('click', (click) => {
  if (click.ctrlKey || click.metaKey || click.shiftKey) return;
  click.preventDefault();
  tab.drop('queuepage:jumps');
  if (!enter()) end('failed');
});
document.addEventListener('visibilitychange', countDown);
setInterval(() => state.view === 'early' && render(), 1000);
