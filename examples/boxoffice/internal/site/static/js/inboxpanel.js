// The panel under the bell.

import { $, attempt, h, keep, setText, show, tell } from './dom.js';
import { ago, t } from './i18n.js';
import { inbox } from './inbox.js';
import { live } from './live.js';
import { about, sign, textOf } from './notices.js';
import { hush } from './toast.js';

export class InboxPanel {
  #element = $('#inbox');
  #rows = new Map(); // id → { element, state }

  constructor() {
    this.#element.addEventListener('toggle', () => {
      if (!this.open) return;
      hush();
      this.render();
    });
    const act = (selector, task) => $(selector).addEventListener('click', () => this.#do($(selector), task));
    act('#inbox-all', () => inbox.readAll());
    act('#inbox-more', () => inbox.older());
    act('#inbox-here', () => live.here());
    $('#inbox-mute').addEventListener('change', (event) => this.#mute(event.target));
  }

  get open() { return this.#element.matches(':popover-open'); }

  show() { this.#element.showPopover(); }

  close() { if (this.open) this.#element.hidePopover(); }

  render() {
    if (!this.open) return;
    const { items, unread, muted, more } = inbox;
    show($('#inbox-none'), items.length === 0);
    show($('#inbox-all'), unread > 0);
    show($('#inbox-more'), more);
    $('#inbox-mute').checked = muted;
    const state = { evicted: t('live.evicted.text'), fallback: t('live.fallback') }[live.state] ?? '';
    show($('#inbox-state'), state !== '');
    setText($('#inbox-state span'), state);
    show($('#inbox-here'), live.state === 'evicted');
    this.#list(items);
  }

  // #list keeps the rows that are the same, and with them the focus.
  #list(items) {
    const rows = items.map((item) => {
      const old = this.#rows.get(item.id);
      const state = String(item.readAt === null);
      const row = old?.state === state ? old : { element: this.#draw(item), state };
      if (old && old !== row && old.element.contains(document.activeElement)) row.focus = true;
      this.#rows.set(item.id, row);
      setText($('time', row.element), ago(new Date(item.createdAt)));
      return row;
    });
    keep($('#inbox-list'), rows.map(({ element }) => element));
    for (const row of rows.filter(({ focus }) => focus)) {
      delete row.focus;
      ($('a', row.element) ?? row.element).focus();
    }
  }

  #draw(item) {
    const { title, sign: name, href } = about(item);
    const message = textOf(item);
    const unread = item.readAt === null;
    const read = () => inbox.read(item.id).catch((error) => this.#failed(error));
    const text = [h('strong', {}, title), unread && h('span', { class: 'sr-only' }, ` (${t('inbox.isunread')})`), h('span', {}, message)].filter(Boolean);
    return h('li', { class: unread ? 'unread' : '', tabIndex: -1 }, sign(name),
      href ? h('a', { class: 'what', href, onclick: () => { read(); this.close(); } }, ...text) : h('div', { class: 'what' }, ...text),
      h('time', { dateTime: item.createdAt, title: new Date(item.createdAt).toLocaleString(document.documentElement.lang) }),
      unread && h('button', { type: 'button', class: 'button quiet small tick', 'aria-label': t('inbox.read', { message }), title: t('inbox.read.short'), onclick: read }, '✓'));
  }

  async #do(button, task) {
    await attempt(button, $('#inbox-problem'), task);
    // The focus of a removed button goes to the heading.
    const { activeElement: at } = document;
    if (this.open && (at === document.body || (at === button && !button.checkVisibility()))) $('#inbox-title').focus();
  }

  async #mute(box) {
    tell($('#inbox-problem'), null);
    const wanted = box.checked;
    try {
      await inbox.mute(wanted);
    } catch (error) {
      box.checked = !wanted;
      this.#failed(error);
    }
  }

  #failed(error) {
    if (error.title === undefined) throw error;
    tell($('#inbox-problem'), error);
  }
}
