// The dead letters: lists that are changed in place once a second, so that buttons do
// not move under the user's finger, and the actions on them.

import { post } from './api.js';
import { confirmed } from './confirm.js';
import { $, announce, h, setText, show, tell } from './dom.js';
import { t, time, tn } from './i18n.js';
import { LetterDialog } from './letter.js';

// The server works for 15 s on one request and says when there is more to do.
const PATIENCE = 30000;

export class DeadLetters {
  #token; // a function: the admin token of the moment
  #changed; // called after something was done
  #topics = new Map(); // by name
  #begun = false; // letters of the first look are not new
  #dialog;

  constructor({ token, changed }) {
    this.#token = token;
    this.#changed = changed;
    this.#dialog = new LetterDialog({ token, changed, redrive: (topic, letter) => this.#one(topic, 'redrive', letter) });
  }

  // update shows the topics as the report has them.
  update(topics) {
    const filled = topics.filter((topic) => topic.count > 0);
    show($('#dead-none'), filled.length === 0 && ![...this.#topics.values()].some((topic) => topic.busy));
    setText($('#dead-none'), topics.some((topic) => topic.ageSeconds === null) ? t('ops.dead.unknown') : t('ops.dead.none'));
    for (const topic of filled) {
      if (!this.#topics.has(topic.topic)) this.#topics.set(topic.topic, this.#make(topic.topic));
    }
    for (const [name, shown] of this.#topics) {
      const topic = filled.find((other) => other.topic === name);
      if (topic) this.#fill(shown, topic);
      else if (!shown.busy) this.#leave(name, shown);
      else this.#fill(shown, { topic: name, count: 0, recent: [] });
    }
    this.#begun = true;
  }

  #make(name) {
    const shown = { name, letters: new Map(), busy: false, stopped: false };
    shown.count = h('b', {});
    shown.list = h('ul', { class: 'letters' });
    shown.status = h('p', { class: 'fine', role: 'status' });
    shown.more = h('p', { class: 'hint' });
    const button = (text, extra, listener) => h('button', { type: 'button', class: `button small ${extra}`, 'aria-label': `${text}: ${name}`, onclick: listener }, text);
    shown.redrive = button(t('ops.dead.redriveall'), 'primary', () => this.#all(shown, 'redrive'));
    shown.drop = button(t('ops.dead.dropall'), '', () => this.#all(shown, 'drop'));
    shown.stop = button(t('ops.dead.stop'), '', () => { shown.stopped = true; });
    show(shown.stop, false);
    shown.summary = h('summary', {}, h('code', {}, name), ' ', shown.count);
    shown.element = h('details', { open: true, 'data-topic': name }, shown.summary,
      h('div', { class: 'bar' }, h('p', { class: 'actions' }, shown.redrive, shown.drop, shown.stop), shown.status), shown.list, shown.more);
    $('#dead').append(shown.element);
    return shown;
  }

  #leave(name, shown) {
    if (shown.element.contains(document.activeElement)) {
      $('#dead-title').tabIndex = -1;
      $('#dead-title').focus();
    }
    shown.element.remove();
    this.#topics.delete(name);
  }

  #fill(shown, topic) {
    setText(shown.count, tn('ops.dead.count', topic.count));
    const hidden = topic.count - topic.recent.length;
    setText(shown.more, hidden > 0 ? tn('ops.dead.more', hidden) : '');
    show(shown.more, hidden > 0);
    const keys = topic.recent.map((letter) => `${letter.id} ${letter.group ?? ''}`);
    for (const [key, item] of shown.letters) {
      if (keys.includes(key)) continue;
      if (item.contains(document.activeElement)) (item.nextElementSibling?.querySelector('button') ?? shown.summary).focus();
      item.remove();
      shown.letters.delete(key);
    }
    topic.recent.forEach((letter, i) => {
      const version = `${letter.at} ${letter.edits ?? 0} ${letter.redrives ?? 0}`;
      let item = shown.letters.get(keys[i]);
      if (item && item.dataset.version !== version) {
        const fresh = this.#letter(shown, letter);
        const inside = item.contains(document.activeElement) ? document.activeElement.className : '';
        item.replaceWith(fresh);
        if (inside) fresh.querySelector('button').focus();
        item = fresh;
      }
      item ??= this.#letter(shown, letter);
      item.dataset.version = version;
      shown.letters.set(keys[i], item);
      if (shown.list.children[i] !== item) shown.list.insertBefore(item, shown.list.children[i] ?? null);
    });
  }

  #letter(shown, letter) {
    const type = letter.type || t('ops.unknowntype');
    const button = (text, listener) => h('button', { type: 'button', class: 'button small', 'aria-label': `${text}: ${type} ${letter.id}`, onclick: listener }, text);
    const history = [
      letter.attempts > 0 && tn('ops.dead.attempts', letter.attempts),
      letter.redrives > 0 && tn('ops.dead.redrives', letter.redrives),
      letter.edits > 0 && tn('ops.dead.edits', letter.edits),
    ].filter(Boolean);
    return h('li', { class: this.#begun ? 'fresh' : '', 'data-id': letter.id },
      h('p', {}, h('b', {}, type), ' ', h('code', {}, letter.id)),
      h('p', {}, letter.class && h('span', { class: 'state', 'data-state': letter.class }, letter.class), ' ', [letter.reason, letter.group].filter((word) => word && word.toLowerCase() !== letter.class).join(' · ')),
      letter.error && h('p', { class: 'fine error' }, h('code', {}, letter.error)),
      h('p', { class: 'fine' }, [Number.isNaN(Date.parse(letter.at)) ? letter.at : time(new Date(letter.at)), ...history].filter(Boolean).join(' · ')),
      h('p', { class: 'actions' },
        button(t('ops.dead.details'), () => this.#dialog.open(shown.name, letter)),
        button(t('ops.dead.redrive'), () => this.#one(shown.name, 'redrive', letter)),
        button(t('ops.dead.drop'), () => this.#one(shown.name, 'drop', letter))));
  }

  // #one redrives or drops one letter.
  async #one(name, what, letter) {
    const shown = this.#topics.get(name);
    if (!shown || this.#waits(shown)) return;
    if (what === 'drop' && !await confirmed({
      title: t('ops.ask.drop.title'), text: t('ops.ask.drop.one', { type: letter.type || t('ops.unknowntype'), id: letter.id }), yes: t('ops.dead.drop'), no: t('ops.ask.keep'),
    })) return;
    await this.#run(shown, what, { ids: [letter.id] });
  }

  // #all redrives or drops every letter, after a dry run has counted them.
  async #all(shown, what) {
    if (this.#waits(shown)) return;
    const n = await this.#run(shown, what, { all: true, dryRun: true });
    if (n === null) return;
    if (n === 0) {
      this.#say(shown, t('ops.dead.nothing'));
      return;
    }
    const sure = what === 'drop'
      ? await confirmed({ title: t('ops.ask.drop.title'), text: tn('ops.ask.drop.all', n, { topic: shown.name }), yes: tn('ops.ask.drop.yes', n), no: t('ops.ask.keep') })
      : await confirmed({ title: t('ops.ask.redrive.title'), text: tn('ops.ask.redrive.all', n, { topic: shown.name }), yes: tn('ops.ask.redrive.yes', n), no: t('ops.ask.leave'), danger: false });
    if (sure) await this.#run(shown, what, { all: true });
  }

  // #run asks until all is done or the operator stops it. It returns the number of
  // letters, or null when it failed.
  async #run(shown, what, selection) {
    this.#busy(shown, true);
    tell($('#dead-problem'), null);
    let done = 0;
    const failed = new Map();
    try {
      for (let before; ;) {
        const r = await post(`/api/admin/dead-letters/${encodeURIComponent(shown.name)}/${what}`, { ...selection, before }, { token: this.#token(), patience: PATIENCE });
        const n = r.done + (r.duplicates ?? 0); // of one event several groups may have a letter
        if (selection.dryRun) return n;
        done += n;
        for (const f of r.failed) failed.set(f.id, f.error);
        if (!r.more || shown.stopped || (before && n === 0)) break;
        before = r.before;
        show(shown.stop);
        this.#say(shown, said(what, done));
      }
      this.#say(shown, said(what, done));
      if (failed.size > 0) tell($('#dead-problem'), { title: tn('ops.dead.failed', failed.size), detail: [...failed].map(([id, why]) => `${id}: ${why}`).join('; ') });
      return done;
    } catch (error) {
      if (!error.title) throw error;
      tell($('#dead-problem'), error);
      return null;
    } finally {
      this.#busy(shown, false);
      if (!selection.dryRun) this.#changed();
    }
  }

  // #waits explains a click that is too early; a disabled button would lose the focus.
  #waits(shown) {
    if (shown.busy) this.#say(shown, t('ops.dead.wait'));
    return shown.busy;
  }

  #busy(shown, busy) {
    shown.busy = busy;
    shown.stopped = false;
    shown.element.setAttribute('aria-busy', String(busy));
    shown.redrive.classList.toggle('busy', busy);
    if (!busy) show(shown.stop, false);
  }

  #say(shown, text) {
    setText(shown.status, text);
    announce(text);
  }
}

const said = (what, n) => (what === 'drop' ? tn('ops.dead.dropped', n) : tn('ops.dead.redriven', n));
