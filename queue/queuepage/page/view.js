// The page shows the contents of state, and nothing else.

const $ = (id) => document.getElementById(id);

const state = {
  // a key of views
  view: 'joining',
  // '', 'offline' or 'busy': shown above the last known values
  trouble: '',
  // of the trouble, by language; {} for the page's own
  words: {},
  position: 0,
  ahead: 0,
  // null: not known
  behind: null,
  // taken, and of how many; null: not known
  places: null,
  // s: how long the place is kept without a poll
  keep: config.keep,
};

// The parts of each view besides its heading and its text.
const views = {
  joining: ['pool'],
  early: ['pool', 'leave'],
  waiting: ['pool', 'place', 'line', 'leave', 'promise'],
  paused: ['pool', 'place', 'line', 'leave', 'promise'],
  settling: ['pool', 'place', 'line', 'leave', 'promise'],
  turn: ['pool', 'timer', 'enter', 'leave'],
  opening: ['pool'],
  passed: ['emblem', 'again', 'home'],
  left: ['emblem', 'again', 'home'],
  signin: ['emblem', 'signin', 'home'],
  soldout: ['emblem', 'home'],
  ended: ['emblem', 'home'],
  unknown: ['emblem', 'home'],
  failed: ['emblem', 'again', 'home'],
};

const parts = Object.values(views).flat();

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const inLine = () => views[state.view].includes('line');

function render() {
  const shown = views[state.view];
  const held = document.activeElement;
  for (const part of parts) $(part).hidden = !shown.includes(part);
  if (!config.home) $('home').hidden = true;
  if (!config.signIn) $('signin').hidden = true;
  document.body.dataset.view = state.view;
  document.body.dataset.trouble = state.trouble;
  // The focus of a hidden button would be lost.
  if (held && held.closest('main') && held.getClientRects().length === 0) $('title').focus();

  setText($('title'), t(`${state.view}.title`));
  setText($('text'), t(textKey(), { keep: span(state.keep), opens: minutes(state.opens - Date.now() / 1000) }));
  setText($('kept'), t('promise.close', { keep: span(state.keep) }));
  setText($('again'), t(state.view === 'failed' ? 'retry' : 'again'));
  $('trouble').hidden = state.trouble === '';
  if (state.trouble) setText($('trouble'), troubleText());
  $('renewed').hidden = !(journey.renewed && inLine());

  setText($('position'), t('n', { n: state.position }));
  setText($('ahead'), t('n', { n: state.ahead }));
  $('behind').parentNode.hidden = state.behind === null;
  setText($('behind'), t('n', { n: state.behind || 0 }));
  // Old values are not shown as current ones.
  const places = state.trouble ? null : state.places;
  $('places').parentNode.hidden = !places;
  setText($('places'), (places || []).map((n) => t('n', { n })).join(' / '));
  setText($('wait'), waitText() || t('wait.unknown'));
  setText($('updated'), state.updated ? t('updated', { time: clockTime(state.updated) }) : '');

  const percent = inLine() ? Math.floor(100 * (journey.best || 0)) : 0;
  const bar = $('bar');
  bar.setAttribute('aria-valuenow', percent);
  bar.setAttribute('aria-valuetext', t('percent', { n: percent }));
  const level = ['turn', 'opening'].includes(state.view) ? 1 : inLine() ? journey.best || 0 : 0;
  $('pool').style.setProperty('--level', level.toFixed(4));
  bar.style.setProperty('--level', level.toFixed(4));
  $('notify').hidden = !inLine() || notes() !== 'default';
  $('noted').hidden = notes() !== 'granted';
  renderTimer();
  renderTitle();
  drawIcon();
  if (shown.includes('pool')) wake();
  else lock?.release?.();
}

// A problem may bring its own words.
const troubleText = () => state.words[lang] || t(`trouble.${state.trouble}`);

// A text may be for those who are back, or of the kind of the page.
function textKey() {
  const own = `${state.view}.text.${state.returner ? 'back' : config.kind}`;
  return texts[own] === undefined ? `${state.view}.text` : own;
}

function renderTimer() {
  if (state.view !== 'turn') return;
  const left = (state.deadline - Date.now()) / 1000;
  setText($('left'), state.deadline ? minutes(left) : '');
  $('timer').hidden = !state.deadline;
  const moves = state.moveAt > 0 && !state.trouble;
  setText($('moving'), moves ? t('turn.moving', { n: Math.max(0, Math.ceil((state.moveAt - Date.now()) / 1000)) }) : t('turn.stay'));
  $('stay').hidden = !moves;
}

function renderTitle() {
  let title = t(`${state.view}.title`);
  if (state.trouble) title = `${t(`trouble.${state.trouble}.short`)} · ${title}`;
  if (inLine()) title = `${t('n', { n: state.position })} · ${title}`;
  if (document.title !== `${title} · ${config.title}`) document.title = `${title} · ${config.title}`;
}

// renderFixed sets the texts that belong to no state.
function renderFixed() {
  for (const node of document.querySelectorAll('[data-t]')) {
    setText(node, t(node.dataset.t));
  }
  for (const node of document.querySelectorAll('[data-label]')) node.setAttribute('aria-label', t(node.dataset.label));
  const other = Object.keys(config.texts).find((name) => name !== lang);
  $('lang').hidden = other === undefined;
  if (other !== undefined) {
    $('lang').lang = other;
    $('lang').dataset.lang = other;
    setText($('lang'), config.texts[other].name);
  }
  render();
}

const saying = [];

// say gives a screen reader all texts of one change at once.
function say(text) {
  if (saying.push(text) > 1) return;
  queueMicrotask(() => {
    const words = saying.splice(0).join(' ');
    // The same words twice are heard twice only if the text changes.
    $('live').textContent = $('live').textContent === words ? `${words}\u00a0` : words;
  });
}

const aheadText = () => t('ahead.n', { n: state.ahead });

// milestones says where we are when it matters, each once.
function milestones() {
  const said = journey.said || [];
  const marks = [['half', state.position <= journey.start / 2 && journey.start > 3], ['1000', state.ahead <= 1000], ['100', state.ahead <= 100], ['10', state.ahead <= 10], ['next', state.ahead === 0]];
  const reached = marks.filter(([, there]) => there).map(([name]) => name);
  const fresh = reached.filter((name) => !said.includes(name));
  if (said.includes('joined')) {
    if (fresh.length === 0) return;
    const lead = fresh.includes('next') ? t('say.next') : [fresh.includes('half') ? t('say.half') : '', aheadText()].join(' ');
    say([lead, waitText()].join(' ').trim());
  } else {
    say([t('waiting.title') + '.', state.ahead === 0 ? t('say.next') : aheadText(), waitText()].join(' ').trim());
  }
  remember({ said: ['joined', ...new Set([...said.filter((name) => name !== 'joined'), ...reached])] });
}

// show changes the view, and says so.
function show(view) {
  if (state.view === view) return;
  if (view === 'waiting' && ['paused', 'settling'].includes(state.view)) say(t('say.resumed'));
  state.view = view;
  if (view === 'turn' || view === 'opening') notify();
  if (['joining', 'waiting', 'opening'].includes(view)) return;
  render();
  say(`${$('title').textContent}. ${$('text').textContent}`);
}
