// The visitor's hands, and the beginning.

const leftKey = `${drawerKey}:left`;

function begin() {
  tab.drop(leftKey);
  // Of the turn: the visitor would rather enter by hand; it was said that the end is near;
  // when to enter by itself, 0: not; and the end.
  Object.assign(state, { view: journey.last ? 'waiting' : 'joining', trouble: '', stay: false, warned: false, moveAt: 0, deadline: 0, updated: 0 }, journey.last);
  render();
  loop.run(step);
}

function left() {
  forget();
  tab.set(leftKey, '1');
  end('left');
}

async function leave() {
  $('yes').disabled = true;
  loop.stop();
  // A check that arrives after the leave would line up again.
  await loop.current;
  const { ticket } = place.get();
  const answer = config.leave ? await ask('POST', address(config.leave), ticket ? { 'x-queue-ticket': ticket } : {}) : { status: 204 };
  $('yes').disabled = false;
  // An unknown visitor has no place either.
  if (answer.status >= 200 && answer.status < 300 || answer.status === 401 || answer.status === 404) {
    left();
    return;
  }
  $('failed').hidden = false;
  loop.task = step;
  loop.again(Math.max(3, answer.retryAfter || 0));
}

function look() {
  // A visitor signed in since, here or in another tab, goes on.
  if (state.view === 'signin' && !document.hidden && (!config.bearerKey || bearer() !== '')) begin();
  loop.arm();
}

function listen() {
  $('lang').addEventListener('click', () => {
    local.set('queuepage:lang', $('lang').dataset.lang);
    speak($('lang').dataset.lang);
    renderFixed();
  });
  $('leave').addEventListener('click', () => {
    $('failed').hidden = true;
    $('confirm').showModal();
  });
  $('no').addEventListener('click', () => $('confirm').close());
  $('yes').addEventListener('click', leave);
  $('again').addEventListener('click', () => {
    // A page in place of another one lost its cookie: only a load brings a new one.
    if (config.event && state.view === 'failed') location.reload();
    else begin();
  });
  document.addEventListener('visibilitychange', look);
  addEventListener('pageshow', (shown) => {
    if (shown.persisted) look();
  });
  addEventListener('storage', ({ key, newValue }) => {
    if (key === config.bearerKey) look();
    // The visitor has left in another tab.
    if (key === drawerKey && !newValue && loop.task && state.view !== 'turn') left();
  });
  addEventListener('offline', () => {
    if (loop.task === null || state.trouble === 'offline') return;
    state.trouble = 'offline';
    state.words = {};
    say(troubleText());
    render();
  });
  addEventListener('online', () => {
    if (!state.trouble) return;
    loop.fails = 0;
    loop.again(0.5 + 2 * Math.random());
  });
}

async function nameOfShow() {
  if (!config.show) return;
  const { status, body } = await ask('GET', address(config.show));
  if (status !== 200 || !body || typeof body.title !== 'string') return;
  setText($('show'), body.title);
  $('show').hidden = false;
}

function start() {
  $('enter-now').href = destination()?.href || '';
  $('signin').href = localURL(address(config.signIn || ''))?.href || '';
  speak(wanted());
  renderFixed();
  $('main').hidden = false;
  listen();
  if (event === '') {
    end('unknown');
    return;
  }
  nameOfShow();
  if (tab.get(leftKey) && performance.getEntriesByType('navigation')[0]?.type !== 'navigate') {
    end('left');
    return;
  }
  // A browser that loads the page in case it is wanted is not in line yet.
  if (document.prerendering) document.addEventListener('prerenderingchange', begin, { once: true });
  else begin();
}

start();
