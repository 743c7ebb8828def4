// The waiting rooms of the shows, and an operator's actions on them. Cards are
// changed in place once a second, so that sliders do not move under the user's
// finger.

import { post, put } from './api.js';
import { confirmed } from './confirm.js';
import { $, announce, h, setText, show, svg, tell } from './dom.js';
import { number, t, time } from './i18n.js';
import { RoomPlot, lately, rounded } from './roomplot.js';
import { ThresholdControl } from './threshold.js';

export class RoomsPanel {
  #token; // a function: the admin token of the moment
  #changed; // called after something was done
  #cards = new Map(); // by show

  constructor({ token, changed }) {
    this.#token = token;
    this.#changed = changed;
  }

  // update shows the rooms of a report that was asked for at a time of
  // performance.now; there are none in an office without them.
  update(rooms, asked) {
    show($('#rooms'), Boolean(rooms));
    if (!rooms) return;
    const none = rooms.shows.length === 0;
    show($('#rooms-none'), none || rooms.error !== '');
    setText($('#rooms-none'), rooms.error ? t('ops.rooms.error', { reason: rooms.error }) : none ? t('ops.rooms.none') : '');
    for (const room of rooms.shows) {
      if (!this.#cards.has(room.eventId)) {
        const card = new RoomCard(room, { token: this.#token, changed: this.#changed });
        this.#cards.set(room.eventId, card);
        $('#room-list').append(card.element);
      }
      this.#cards.get(room.eventId).update(room, asked);
    }
    for (const [event, card] of this.#cards) {
      if (rooms.shows.some((room) => room.eventId === event)) continue;
      card.element.remove();
      this.#cards.delete(event);
    }
  }
}

class RoomCard {
  #event;
  #title;
  #token;
  #changed;
  #known = false; // the room has answered
  #told = -Infinity; // when an answer to the operator came
  #state = null;
  #gate = null;
  #busy = false;
  #parts = {};
  #plot;
  #threshold;
  #seconds = [];
  #rows = []; // of the table

  constructor({ eventId, title }, { token, changed }) {
    this.#event = eventId;
    this.#title = title;
    this.#token = token;
    this.#changed = changed;
    const part = (name, tag, properties = {}, ...children) => (this.#parts[name] = h(tag, { 'data-part': name, ...properties }, ...children));
    const button = (name, extra, listener) => part(name, 'button', { type: 'button', class: `button small ${extra}`, onclick: listener });
    const pair = (name, text) => h('div', {}, h('dt', {}, text), part(name, 'dd', {}, '–'));
    const picture = svg('svg', { class: 'admitted', role: 'img', 'aria-label': t('ops.room.plot', { title }) });
    this.#threshold = new ThresholdControl({ id: `room-${eventId}-threshold`, title, apply: (n) => this.#apply(n) });

    this.element = h('details', { class: 'room', 'data-event': eventId },
      h('summary', {},
        h('h3', {}, title), ' ', part('chip', 'span', { class: 'state' }), ' ', part('brief', 'span', { class: 'brief' })),
      part('unknown', 'p', { class: 'notice' }),
      part('problem', 'p', { class: 'problem', role: 'alert', hidden: true }),
      part('inside', 'div', { class: 'budget', hidden: true },
        h('div', { class: 'plot' },
          h('div', { class: 'legend' },
            h('p', { class: 'figure' }, part('rate', 'strong', {}, '–'), ' ', h('span', {}, t('ops.room.persecond'))),
            part('entered', 'p', { class: 'keys' })),
          picture,
          part('table', 'details', { ontoggle: () => this.#table() }, h('summary', {}, t('ops.budget.astable')),
            h('div', { class: 'tablebox tall', tabIndex: 0, role: 'group', 'aria-label': t('ops.room.plot', { title }) }, h('table', {},
              h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, t('ops.budget.time')), h('th', { scope: 'col', class: 'n' }, t('ops.room.letin')))),
              part('rows', 'tbody')))),
          h('dl', { class: 'facts' },
            pair('waiting', t('ops.room.waiting')), pair('active', t('ops.room.active')), pair('entitled', t('ops.room.entitled')),
            pair('noshows', t('ops.room.noshows')), pair('swept', t('ops.room.swept')),
            pair('returning', t('ops.room.returning')), pair('laned', t('ops.room.laned')), pair('stock', t('ops.room.stock')))),
        h('div', { class: 'beside' },
          this.#threshold.element,
          h('p', { class: 'actions' }, button('pause', '', () => this.#pause()), button('clear', '', () => this.#clear())),
          part('said', 'p', { class: 'fine said' }),
          part('gate', 'div', { class: 'frontgate' },
            h('h4', {}, t('ops.gate'), ' ', part('gatechip', 'span', { class: 'state' })),
            h('dl', { class: 'pairs tight' }, pair('assigned', t('ops.gate.assigned')), pair('serving', t('ops.gate.serving')), pair('before', t('ops.gate.before'))),
            h('p', { class: 'actions' }, button('switch', '', () => this.#switch()), button('advance', '', () => this.#advance()))))),
    );
    this.#plot = new RoomPlot(picture, title);
    this.#name('clear', t('ops.room.clear'));
    this.#name('advance', t('ops.gate.advance'));
  }

  // #name adds the show to a button's name, when there are several cards.
  #name(part, text) {
    setText(this.#parts[part], text);
    this.#parts[part].setAttribute('aria-label', `${text}: ${this.#title}`);
  }

  update(room, asked) {
    const { admitted, state, gate, ageSeconds } = room;
    this.#seconds = admitted.perSecond.map((n, i, all) => ({ at: admitted.until - all.length + i, n }));
    // A look from before the operator's change knows nothing of it.
    if (state && asked - 1000 * ageSeconds >= this.#told) {
      this.#state = state;
      this.#gate = gate;
    }
    this.#trouble(room);
    this.#draw();
    if (!this.#known && this.#state) {
      this.#known = true;
      const s = this.#state;
      this.element.open = s.waiting > 0 || s.active > 0 || s.paused || s.gated || Boolean(this.#gate?.on);
    }
    const rate = lately(this.#seconds);
    setText(this.#parts.rate, rate === null ? '–' : rounded(rate));
    this.#plot.show(this.#seconds);
    this.#table();
  }

  // #trouble says why figures are old, or not there.
  #trouble({ error, gateError, ageSeconds, state }) {
    const { unknown } = this.#parts;
    const why = error || gateError;
    const old = ageSeconds !== null && ageSeconds > 5;
    show(unknown, !state || why !== '' || old);
    setText(unknown, [!state ? t('ops.rooms.none') : error || old ? t('ops.asof', { n: number(Math.round(ageSeconds)) }) : '', why].filter(Boolean).join(' · '));
    show(this.#parts.inside, Boolean(this.#state));
  }

  #draw() {
    const s = this.#state;
    const p = this.#parts;
    const [kind, text] = condition(s);
    p.chip.dataset.state = kind;
    setText(p.chip, text);
    if (!s) return;
    setText(p.brief, t('ops.room.brief', { waiting: number(s.waiting), active: number(s.active), threshold: number(s.threshold) }));
    setText(p.entered, t('ops.room.entered', { n: number(s.entered) }));
    setText(p.waiting, number(s.waiting));
    setText(p.active, t('ops.budget.of', { n: number(s.active), all: number(s.threshold) }));
    setText(p.entitled, number(s.entitled));
    setText(p.noshows, number(s.noShows));
    setText(p.swept, number(s.swept));
    setText(p.returning, number(s.returning));
    setText(p.laned, laned(s));
    setText(p.stock, s.stock === null ? '–' : number(s.stock));
    this.#threshold.show(s.threshold);
    this.#name('pause', s.paused ? t('ops.room.resume') : t('ops.room.pause'));
    p.pause.classList.toggle('primary', s.paused);
    this.#drawGate();
  }

  #drawGate() {
    const g = this.#gate;
    const p = this.#parts;
    show(p.gate, Boolean(g));
    if (!g) return;
    p.gatechip.dataset.state = g.on ? 'paused' : 'off';
    setText(p.gatechip, g.on ? t('ops.gate.on') : t('ops.gate.off'));
    setText(p.assigned, number(g.assigned));
    setText(p.serving, number(g.serving));
    setText(p.before, number(Math.max(0, g.assigned - g.serving)));
    this.#name('switch', g.on ? t('ops.gate.deactivate') : t('ops.gate.activate'));
    show(p.advance, g.on);
  }

  // #table is filled while it is open.
  #table() {
    if (!this.#parts.table.open) return;
    const seconds = this.#seconds.toReversed();
    while (this.#rows.length < seconds.length) {
      const cells = [h('th', { scope: 'row' }), h('td', { class: 'n' })];
      this.#rows.push(cells);
      this.#parts.rows.append(h('tr', {}, ...cells));
    }
    seconds.forEach((s, i) => {
      setText(this.#rows[i][0], s.at > 0 ? time(new Date(1000 * s.at)) : '–');
      setText(this.#rows[i][1], s.n === null ? '–' : rounded(s.n));
    });
  }

  async #apply(threshold) {
    await this.#do(() => put(`/api/queue/admin/threshold/${this.#path()}`, { threshold }, { token: this.#token() }), () => this.#room(), false);
  }

  async #pause() {
    const { paused } = this.#state;
    await this.#do(() => this.#post(`/api/queue/admin/${paused ? 'resume' : 'pause'}`), () => (paused ? t('ops.room.resumed', { title: this.#title }) : t('ops.room.pausedfor', { title: this.#title })));
  }

  async #clear() {
    const { waiting, active } = this.#state;
    if (!await confirmed({
      title: t('ops.ask.clear.title'), text: t('ops.ask.clear.text', { title: this.#title, waiting: number(waiting), active: number(active) }), yes: t('ops.room.clear'), no: t('ops.ask.keep'),
    })) return;
    await this.#do(() => this.#post('/api/queue/admin/clear'), () => t('ops.room.cleared', { title: this.#title }));
  }

  async #switch() {
    const { on } = this.#gate;
    await this.#do(() => this.#post(`/api/admin/vwr/${on ? 'deactivate' : 'activate'}`), () => (on ? t('ops.gate.deactivated', { title: this.#title }) : t('ops.gate.activated', { title: this.#title })));
  }

  async #advance() {
    await this.#do(() => this.#post('/api/admin/vwr/advance'), (answer) => t('ops.gate.advanced', { title: this.#title, n: number(answer.advanced), serving: number(answer.servingCounter) }));
  }

  #path() { return encodeURIComponent(this.#event); }

  #post(path) { return post(`${path}/${this.#path()}`, undefined, { token: this.#token() }); }

  // #room says how the room stands after a change.
  #room() {
    const s = this.#state;
    return t('ops.room.applied', { title: this.#title, threshold: number(s.threshold), active: number(s.active), waiting: number(s.waiting) });
  }

  // #do runs one action at a time, shows its result, and says it.
  async #do(what, said, alone = true) {
    if (alone && this.#busy) {
      this.#say(t('ops.room.wait'));
      return;
    }
    this.#busy = true;
    this.element.setAttribute('aria-busy', 'true');
    tell(this.#parts.problem, null);
    try {
      const answer = await what();
      this.#told = performance.now();
      this.#learn(answer);
      this.#draw();
      this.#say(said(answer));
    } catch (error) {
      if (!error.title) throw error;
      this.#say('');
      tell(this.#parts.problem, error);
    } finally {
      this.#busy = false;
      this.element.removeAttribute('aria-busy');
      this.#changed();
    }
  }

  // #learn takes over the answer of the room, or of its gate.
  #learn(a) {
    if ('servingCounter' in a) {
      this.#gate = { on: a.active, assigned: a.nextPosition, serving: a.servingCounter };
      return;
    }
    this.#state = {
      ...this.#state, threshold: a.threshold, paused: a.paused, gated: a.gated, settlingSeconds: a.settling,
      active: a.currentUsers, entitled: a.entitled, waiting: a.queueSize, entered: a.entered, noShows: a.noShows, swept: a.swept,
      returning: a.returning, stock: a.stock ?? null, shares: a.shares ?? {},
    };
  }

  #say(text) {
    setText(this.#parts.said, text);
    if (text) announce(text);
  }
}

// laned is how many turns lanes have given, and the share of each.
function laned(s) {
  const shares = Object.entries(s.shares).map(([name, share]) => `${name} ${number(Math.round(100 * share))}%`);
  return number(s.laned) + (shares.length > 0 ? ` (${shares.join(', ')})` : '');
}

// condition is a room in a word, and the kind of it for its colour.
function condition(s) {
  if (!s) return ['unknown', t('ops.room.is.unknown')];
  if (s.paused) return ['paused', t('ops.room.is.paused')];
  if (s.settlingSeconds > 0) return ['paused', t('ops.room.is.settling')];
  if (s.threshold === 0) return ['paused', t('ops.room.is.closed')];
  if (s.gated) return ['gated', t('ops.room.is.gated')];
  return ['running', t('ops.room.is.open')];
}
