// The consumer groups, as the transport reports them, and the actions on a group that
// has stopped.

import { get, post } from './api.js';
import { confirmed } from './confirm.js';
import { $, announce, h, setText, show, tell } from './dom.js';
import { number, t, tn } from './i18n.js';

const HOUR = 3600 * 1000;

export class GroupsPanel {
  #token; // a function: the admin token of the moment
  #busy = false;

  constructor({ token }) {
    this.#token = token;
    $('#groups-look').addEventListener('click', () => this.#look());
  }

  async #look() {
    await this.#work(async () => {
      const { groups } = await get('/api/admin/groups', { token: this.#token() });
      show($('#groups-table'), groups.length > 0);
      setText($('#groups-status'), groups.length > 0 ? '' : t('ops.groups.none'));
      $('#groups-rows').replaceChildren(...groups.map((g) => this.#row(g)));
    });
  }

  #row(g) {
    const button = (text, place) => h('button', {
      type: 'button', class: 'button small', 'aria-label': `${text}: ${g.topic} ${g.group}`, onclick: () => this.#reset(g, place()),
    }, text);
    return h('tr', {}, h('td', {}, h('code', {}, g.topic)), h('th', { scope: 'row' }, h('code', {}, g.group)),
      h('td', { class: 'n' }, number(g.lag)), h('td', {}, g.live ? t('ops.groups.live') : t('ops.groups.stopped')),
      h('td', {}, !g.live && h('p', { class: 'actions' },
        button(t('ops.groups.earliest'), () => ({ to: 'earliest' })),
        button(t('ops.groups.hour'), () => ({ since: new Date(Date.now() - HOUR).toISOString() })))));
  }

  // #reset moves a group, after a dry run has counted the messages.
  async #reset(g, place) {
    const path = `/api/admin/groups/${encodeURIComponent(g.topic)}/${encodeURIComponent(g.group)}/reset`;
    let moved = null;
    await this.#work(async () => { moved = await post(path, { ...place, dryRun: true }, { token: this.#token() }); });
    if (moved === null) return;
    const text = t('ops.ask.reset.text', { group: g.group, topic: g.topic, again: number(moved.again), skipped: number(moved.skipped) });
    if (!await confirmed({ title: t('ops.ask.reset.title'), text, yes: t('ops.ask.reset.yes'), no: t('ops.ask.leave') })) return;
    moved = null;
    await this.#work(async () => { moved = await post(path, place, { token: this.#token() }); });
    if (moved === null) return;
    await this.#look();
    setText($('#groups-status'), tn('ops.groups.moved', moved.again));
    announce(tn('ops.groups.moved', moved.again));
  }

  // #work runs one action at a time and shows its error.
  async #work(what) {
    if (this.#busy) return;
    this.#busy = true;
    tell($('#groups-problem'), null);
    try {
      await what();
    } catch (error) {
      if (!error.title) throw error;
      tell($('#groups-problem'), error);
    } finally {
      this.#busy = false;
    }
  }
}
