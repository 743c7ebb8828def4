// The chat of a show. Opening it joins its room.

import { Problem, Unreachable } from './api.js';
import { chats } from './chats.js';
import { $, announce, h, setText, show, tell } from './dom.js';
import { t, tn } from './i18n.js';
import { Membership } from './membership.js';
import { Room } from './room.js';
import { session, signedIn } from './session.js';

const SHOWN = 500; // messages in the log
const TOGETHER = 300000; // ms between two messages of one sender under one name

const clock = new Intl.DateTimeFormat(document.documentElement.lang, { hour: '2-digit', minute: '2-digit' });

export class Chat {
  #id;
  #membership;
  #room = null;
  #log = $('#chat-log');
  #sent = new Map(); // id → element of what has not come back yet
  #seen = new Set(); // ids in the log

  constructor(id) {
    this.#id = id;
    this.#membership = new Membership(id);
    this.#membership.addEventListener('change', () => this.#label());
    this.#membership.addEventListener('left', () => {
      chats.clear(id);
      this.#close();
    });
    $('#chat-toggle').addEventListener('click', () => (this.#room ? this.#close() : this.open()));
    $('#chat-leave').addEventListener('click', () => this.#leave());
    $('#chat-form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.#send();
    });
    $('#chat-earlier').addEventListener('click', () => this.#earlier());
    $('#chat-newest').addEventListener('click', () => this.#down());
    this.#log.addEventListener('scroll', () => { if (this.#low) show($('#chat-newest'), false); });
    chats.addEventListener('change', () => this.#mark());
    session.changes.addEventListener('change', () => this.#close());
    document.addEventListener('visibilitychange', () => { if (!document.hidden && this.#room) chats.clear(id); });
    addEventListener('pagehide', () => this.#close());
    addEventListener('hashchange', () => this.#wanted());
    this.#mark();
    this.#membership.load();
    this.#wanted();
  }

  // #wanted opens the chat after a link to it was followed.
  #wanted() { if (location.hash === '#chat' && session.signedIn) this.open(); }

  async open() {
    if (this.#room || !await signedIn(t('chat.signin'))) return;
    const room = new Room(this.#id, this.#membership);
    this.#room = room;
    this.#log.replaceChildren();
    this.#sent.clear();
    this.#seen.clear();
    $('#chat-toggle').disabled = true;
    tell($('#chat-problem'), null);
    room.addEventListener('message', ({ detail }) => this.#add(detail));
    room.addEventListener('state', () => this.#state());
    room.addEventListener('earlier', ({ detail }) => this.#prepend(detail));
    try {
      await room.open();
    } catch (error) {
      this.#close();
      this.#failed(error);
      return;
    } finally {
      $('#chat-toggle').disabled = false;
    }
    if (this.#room !== room) return;
    show($('#chat-earlier'), room.more);
    show($('#chat-room'));
    this.#label();
    chats.open = this.#id;
    chats.clear(this.#id);
    this.#mark();
    this.#empty();
    this.#down();
    $('#chat-text').focus({ preventScroll: location.hash !== '#chat' });
  }

  #close() {
    this.#room?.close();
    this.#room = null;
    if (chats.open === this.#id) chats.open = '';
    show($('#chat-room'), false);
    this.#label();
    this.#mark();
  }

  // #label names the buttons: a member of the room opens and closes the chat, others
  // join it.
  #label() {
    const open = !$('#chat-room').hidden;
    const joined = this.#membership.joined === true;
    $('#chat-toggle').setAttribute('aria-expanded', String(open));
    setText($('#chat-toggle'), open ? t('chat.close') : joined ? t('chat.open') : t('chat.join'));
    setText($('#chat-hint'), joined ? t('chat.joined') : t('chat.hint'));
    show($('#chat-hint'), !open);
    show($('#chat-leave'), joined);
  }

  async #leave() {
    tell($('#chat-problem'), null);
    $('#chat-leave').disabled = true;
    try {
      await this.#membership.leave();
    } catch (error) {
      this.#failed(error);
      return;
    } finally {
      $('#chat-leave').disabled = false;
    }
    announce(t('chat.left'));
    $('#chat-toggle').focus(); // the button that was used is gone
  }

  #mark() {
    const n = session.signedIn ? chats.unread(this.#id) : 0;
    show($('#chat-unread'), n > 0);
    setText($('#chat-unread'), n > 0 ? tn('chat.unread', n) : '');
  }

  #state() {
    const text = this.#room?.state === 'polling' ? t('chat.polling') : '';
    setText($('#chat-state'), text);
  }

  #empty() { show($('#chat-none'), this.#log.children.length === 0); }

  get #low() { return this.#log.scrollHeight - this.#log.scrollTop - this.#log.clientHeight < 60; }

  #down() {
    this.#log.scrollTop = this.#log.scrollHeight;
    show($('#chat-newest'), false);
  }

  #add(message) {
    const low = this.#low || message.senderId === session.memberId;
    this.#sent.get(message.id)?.remove();
    this.#sent.delete(message.id);
    this.#seen.add(message.id);
    const waiting = this.#sent.values().next().value;
    const before = waiting ? waiting.previousElementSibling : this.#log.lastElementChild;
    this.#log.insertBefore(this.#draw(message, before), waiting ?? null);
    if (this.#log.children.length > SHOWN) this.#trim();
    this.#empty();
    if (low) this.#down();
    else show($('#chat-newest'));
  }

  // #trim drops the oldest messages, which are earlier ones from then on.
  #trim() {
    while (this.#log.children.length > SHOWN) this.#log.firstElementChild.remove();
    this.#room.begin(Number(this.#log.firstElementChild.dataset.seq));
    show($('#chat-earlier'), this.#room.more);
  }

  #prepend(messages) {
    const height = this.#log.scrollHeight;
    let before = null;
    const drawn = messages.map((message) => {
      this.#seen.add(message.id);
      before = this.#draw(message, before);
      return before;
    });
    this.#log.prepend(...drawn);
    this.#log.scrollTop += this.#log.scrollHeight - height;
    show($('#chat-earlier'), this.#room.more);
  }

  #draw({ id, seq, senderId, message, sentAt }, before) {
    const at = new Date(sentAt);
    const mine = senderId === session.memberId;
    const together = before?.dataset.sender === senderId && at - Number(before.dataset.at) < TOGETHER;
    return h('div', { class: `message${mine ? ' mine' : ''}${together ? ' together' : ''}`, 'data-seq': seq, 'data-sender': senderId, 'data-at': Number(at) },
      h('p', { class: 'who' }, h('b', {}, mine ? t('chat.you') : senderId), ' ', h('time', { dateTime: sentAt, title: at.toLocaleString(document.documentElement.lang) }, clock.format(at))),
      h('p', { class: 'said' }, message));
  }

  async #send() {
    const field = $('#chat-text');
    const text = field.value.trim();
    if (text === '' || !this.#room) return;
    tell($('#chat-problem'), null);
    field.value = '';
    // It is read out when it comes back.
    const element = h('div', { class: 'message mine waiting', 'aria-hidden': 'true' }, h('p', { class: 'said' }, text), h('p', { class: 'who' }, t('chat.sending')));
    this.#log.append(element);
    this.#empty();
    this.#down();
    try {
      const id = await this.#room.send(text);
      if (this.#seen.has(id)) element.remove();
      else this.#sent.set(id, element);
    } catch (error) {
      element.remove();
      if (field.value === '') field.value = text; // nothing that was written is lost
      this.#empty();
      this.#failed(error);
    }
  }

  async #earlier() {
    $('#chat-earlier').disabled = true;
    try {
      await this.#room.earlier();
      if (!this.#room.more) this.#log.focus();
    } catch (error) {
      this.#failed(error);
    } finally {
      $('#chat-earlier').disabled = false;
    }
  }

  #failed(error) {
    if (!(error instanceof Problem) && !(error instanceof Unreachable)) throw error;
    if (error.status !== 401) tell($('#chat-problem'), error instanceof Unreachable ? { title: error.title, detail: t('chat.unsure') } : error);
  }
}
