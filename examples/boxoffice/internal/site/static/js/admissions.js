// The latest admissions from the waiting rooms, the newest first.

import { get } from './api.js';
import { $, h, setText, show } from './dom.js';
import { number, t, time } from './i18n.js';

const SHOWN = 50;
const PAUSE = 5000; // between two looks, in ms

export class AdmissionsPanel {
  #token; // a function: the admin token of the moment
  #next = 0; // when to look again
  #text = ''; // of the rows that are shown

  constructor({ token }) {
    this.#token = token;
  }

  // look is called regularly. A failed call shows its error and keeps the last list.
  async look() {
    const now = performance.now();
    if (now < this.#next) return;
    this.#next = now + PAUSE;
    try {
      this.#update(await get(`/api/admin/admissions?limit=${SHOWN}`, { token: this.#token() }));
    } catch {
      setText($('#admissions-hint'), t('ops.admissions.error'));
    }
  }

  #update({ state, admissions }) {
    show($('#admissions'));
    const some = admissions.length > 0;
    const hints = {
      on: some ? t('ops.admissions.newest', { n: number(SHOWN) }) : t('ops.admissions.none'),
      off: t('ops.admissions.off'), away: t('ops.admissions.away'), elsewhere: t('ops.admissions.elsewhere'),
    };
    setText($('#admissions-hint'), hints[state] ?? '');
    show($('#admissions-table'), some);
    const text = JSON.stringify(admissions);
    if (text === this.#text) return; // nobody loses what they have selected
    this.#text = text;
    $('#admissions-rows').replaceChildren(...admissions.map((a) => h('tr', {},
      h('td', {}, h('time', { dateTime: a.admittedAt }, time(new Date(a.admittedAt)))),
      h('td', {}, h('code', {}, a.eventId)), h('td', {}, h('code', {}, a.userId)))));
  }
}
