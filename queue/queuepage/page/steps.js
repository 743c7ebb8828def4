// The answers of the room and of the gate. For each there is a step that asks, shows
// the answer, and plans the next question.

const kindOf = (body) => String(body?.type || '').toLowerCase();

// trouble keeps the last view, says that it is old, and tries again by itself.
function trouble(answer) {
  const name = navigator.onLine === false ? 'offline' : 'busy';
  state.words = answer.body?.words || {};
  if (state.trouble !== name) {
    state.trouble = name;
    say(troubleText());
  }
  loop.failed(answer.retryAfter);
  render();
}

function calm() {
  loop.fails = 0;
  loop.earliest = 0;
  if (state.trouble) {
    state.trouble = '';
    if (!state.words[lang]) say(t('trouble.over'));
  }
}

function end(view) {
  loop.stop();
  state.trouble = '';
  state.moveAt = 0;
  if ($('confirm').open) $('confirm').close();
  show(view);
  render();
  return true;
}

// refused handles every answer that does not say where we stand.
function refused(answer) {
  const { status, body } = answer;
  if (body?.redirectTo) return goOn(body.redirectTo) || end('failed');
  if (status >= 200 && status < 300 && body !== null) return false;
  if (status === 401) end('signin');
  else if (/sold-?out/.test(kindOf(body))) end('soldout');
  else if (status === 404 && body !== null) end('unknown');
  else if (status === 410) end('ended');
  else if ([0, 404, 408, 429].includes(status) || status >= 500 || (status < 300 && body === null)) trouble(answer);
  else end('failed');
  return true;
}

// goOn leaves this page, for a place on this site only. Two pages that send the
// visitor to and fro, as happens without cookies, are stopped. The page after the next
// one goes along.
function goOn(where, next = localURL(query.get('next'))) {
  const url = localURL(where);
  const here = url?.pathname === location.pathname;
  if (url === null || (here && !config.event)) return false;
  const now = Date.now();
  const jumps = (read(tab, 'queuepage:jumps').at || []).filter((at) => now - at < 20000);
  if (jumps.length >= 6) return false;
  tab.set('queuepage:jumps', JSON.stringify({ at: [...jumps, now] }));
  if (next !== null && !url.searchParams.has('next')) url.searchParams.set('next', next.pathname + next.search + next.hash);
  if (known(query.get('lang'))) url.searchParams.set('lang', lang);
  loop.stop();
  if (here) location.reload();
  else location.replace(url.href);
  return true;
}

function destination() {
  if (config.event) return location;
  const next = localURL(query.get('next'));
  return next !== null && next.pathname !== location.pathname ? next : localURL(address(config.admitted));
}

function lineUp(body, ahead, wait) {
  state.position = ahead + 1;
  state.ahead = ahead;
  state.updated = Date.now();
  Object.assign(state, { moveAt: 0, deadline: 0, stay: false, warned: false, returner: body.returner });
  if (body.keep > 0) state.keep = body.keep;
  advance(state.position);
  if (wait !== undefined) estimate(body.paused ? null : wait, body.estimatedWaitLow, body.estimatedWaitHigh);
  remember({ last: { position: state.position, ahead, behind: state.behind, updated: state.updated } });
  show(body.paused ? 'paused' : body.settling ? 'settling' : 'waiting');
  milestones();
  render();
  loop.again(pollAfter(body));
}
