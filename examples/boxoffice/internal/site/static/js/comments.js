// The comments on a show, the newest first. A member can delete their own and follow
// the authors of others.

import { get, post, remove } from './api.js';
import { confirmed } from './confirm.js';
import { $, announce, attempt, h, keep, setText, show } from './dom.js';
import { follows } from './follows.js';
import { ago, t } from './i18n.js';
import { session, signedIn } from './session.js';

const PAGE = 20;

export class Comments {
  #path;
  #changed;
  #items = [];
  #rows = new Map(); // id → element

  // changed is called when the show has one comment more or less.
  constructor(id, changed) {
    this.#path = `/api/shows/${encodeURIComponent(id)}/comments`;
    this.#changed = changed;
    $('#comment-form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.#post();
    });
    $('#comments-more').addEventListener('click', () => this.#do($('#comments-more'), () => this.#older()));
    follows.addEventListener('change', () => this.#redraw());
    session.changes.addEventListener('change', () => this.#redraw());
    setInterval(() => { for (const { id: one, createdAt } of this.#items) setText($('time', this.#rows.get(one)), ago(new Date(createdAt))); }, 30000);
  }

  // load reads the newest; older ones that were loaded stay.
  async load() {
    const { comments } = await get(`${this.#path}?limit=${PAGE}`);
    const fresh = new Set(comments.map(({ id }) => id));
    const oldest = comments.at(-1)?.id ?? '';
    const whole = comments.length < PAGE;
    const older = whole ? [] : this.#items.filter(({ id }) => !fresh.has(id) && id < oldest);
    if (older.length === 0) show($('#comments-more'), !whole);
    this.#items = [...comments, ...older];
    this.#render();
  }

  async #older() {
    const { comments } = await get(`${this.#path}?limit=${PAGE}&before=${encodeURIComponent(this.#items.at(-1).id)}`, { repeat: false });
    this.#items = [...this.#items, ...comments];
    this.#render();
    show($('#comments-more'), comments.length === PAGE);
    const first = comments[0] && this.#rows.get(comments[0].id);
    first?.focus({ preventScroll: true });
  }

  #redraw() {
    const focused = document.activeElement?.closest?.('[data-comment]');
    this.#rows.clear();
    this.#render();
    if (focused && !focused.isConnected) $('button', this.#rows.get(focused.dataset.comment) ?? h('p'))?.focus();
  }

  #render() {
    const elements = this.#items.map((item) => {
      if (!this.#rows.has(item.id)) this.#rows.set(item.id, this.#draw(item));
      const element = this.#rows.get(item.id);
      setText($('time', element), ago(new Date(item.createdAt)));
      return element;
    });
    keep($('#comment-list'), elements);
    show($('#comments-none'), elements.length === 0);
  }

  #draw(item) {
    const { id, memberId, text, createdAt } = item;
    const mine = memberId === session.memberId;
    const following = follows.has(memberId);
    return h('li', { class: 'comment', 'data-comment': id, tabIndex: -1 },
      h('p', { class: 'who' }, h('b', {}, memberId), mine && h('span', { class: 'state' }, t('comment.you')),
        h('time', { dateTime: createdAt, title: new Date(createdAt).toLocaleString(document.documentElement.lang) })),
      h('p', { class: 'said' }, text),
      h('p', { class: 'actions' }, mine
        ? h('button', { type: 'button', class: 'button quiet small', onclick: (event) => this.#do(event.currentTarget, () => this.#remove(item)) }, t('comment.delete'))
        : h('button', {
          type: 'button', class: `button quiet small${following ? ' on' : ''}`,
          onclick: (event) => this.#do(event.currentTarget, () => this.#follow(memberId, !following)),
        }, following ? t('comment.following') : t('comment.follow'), h('span', { class: 'sr-only' }, ` ${memberId}`))));
  }

  async #follow(member, wanted) {
    if (!session.signedIn) {
      if (!await signedIn(t('comment.follow.signin'))) return;
      await follows.load();
      if (member === session.memberId || follows.has(member)) return;
    }
    await follows.set(member, wanted);
    announce(wanted ? t('comment.followed', { member }) : t('comment.unfollowed', { member }));
  }

  async #post() {
    const field = $('#comment-text');
    const text = field.value.trim();
    if (text === '') {
      field.focus();
      return;
    }
    if (!await signedIn(t('comment.signin'))) return;
    await this.#do($('#comment-form [type=submit]'), async () => {
      const { id } = await post(this.#path, { text });
      field.value = '';
      this.#items = [{ id, memberId: session.memberId, text, createdAt: new Date().toISOString() }, ...this.#items.filter((item) => item.id !== id)];
      this.#render();
      this.#changed(1);
      announce(t('comment.posted'));
    });
  }

  async #remove({ id }) {
    const sure = await confirmed({ title: t('comment.ask.title'), text: t('comment.ask.text'), yes: t('comment.delete'), no: t('comment.ask.no') });
    if (!sure) return;
    await remove(`/api/comments/${encodeURIComponent(id)}`, { repeat: true });
    this.#items = this.#items.filter((item) => item.id !== id);
    this.#rows.delete(id);
    this.#render();
    this.#changed(-1);
    announce(t('comment.deleted'));
    $('#comments-title').focus();
  }

  #do(button, task) { return attempt(button, $('#comment-problem'), task); }
}
