// One dead letter in a dialog: its error, its contents, and a field for another payload.

import { get, put } from './api.js';
import { $, announce, h, show, tell } from './dom.js';
import { facts } from './facts.js';
import { t } from './i18n.js';

export class LetterDialog {
  #token;
  #changed;
  #redrive;
  #topic = '';
  #letter = null;
  #compact = false; // the payload is JSON on one line and is shown on several

  constructor({ token, changed, redrive }) {
    this.#token = token;
    this.#changed = changed;
    this.#redrive = redrive;
    $('#letter-close').addEventListener('click', () => $('#letter').close());
    $('#letter-payload').addEventListener('input', () => this.#touched());
    $('#letter-form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.#save();
    });
    // The browser gives the focus back to the button that opened the dialog, unless the
    // list has changed since.
    $('#letter').addEventListener('close', () => {
      if (document.activeElement !== document.body && !$('#letter').contains(document.activeElement)) return;
      $('#dead-title').tabIndex = -1;
      ($(`#dead [data-id="${CSS.escape(this.#letter.id)}"] button`) ?? $('#dead-title')).focus();
    });
    $('#letter-redrive').addEventListener('click', async () => {
      $('#letter').close();
      await this.#redrive(this.#topic, this.#letter);
    });
  }

  async open(topic, letter) {
    tell($('#dead-problem'), null);
    try {
      this.#letter = await get(this.#path(topic, letter.id), { token: this.#token(), repeat: false });
    } catch (error) {
      if (!error.title) throw error;
      tell($('#dead-problem'), error);
      return;
    }
    this.#topic = topic;
    this.#show();
    $('#letter').showModal();
    $('#letter-title').tabIndex = -1;
    $('#letter-title').focus(); // from the top, not from its first control
  }

  #path(topic, id) {
    return `/api/admin/dead-letters/${encodeURIComponent(topic)}/${encodeURIComponent(id)}`;
  }

  #show() {
    const l = this.#letter;
    $('#letter-title').textContent = l.type || t('ops.unknowntype');
    const moment = (text) => (Number.isNaN(Date.parse(text)) ? text : new Date(text).toLocaleString(document.documentElement.lang));
    facts($('#letter-facts'), Object.fromEntries(Object.entries({
      [t('ops.letter.id')]: l.id, [t('ops.letter.key')]: l.key, [t('ops.topic')]: l.originalTopic, [t('ops.group')]: l.group,
      [t('ops.letter.reason')]: l.reason, [t('ops.letter.attempts')]: l.attempts, [t('ops.letter.redrives')]: l.redrives, [t('ops.letter.edits')]: l.edits,
      [t('ops.letter.first')]: moment(l.firstFailure), [t('ops.letter.last')]: moment(l.at), [t('ops.letter.worker')]: l.worker, [t('ops.letter.noevent')]: l.eventError,
    }).filter(([, value]) => value !== '' && value !== undefined)));
    $('#letter-error code').textContent = l.error;
    show($('#letter-error'), l.error !== '');
    $('#letter-stack pre').textContent = l.stack;
    show($('#letter-stack'), l.stack !== '');
    $('#letter-metadata dl').replaceChildren(...Object.entries(l.metadata ?? {})
      .filter(([name]) => !name.startsWith('dlq_')) // shown above
      .map(([name, value]) => h('div', { class: 'long' }, h('dt', {}, name), h('dd', {}, value))));
    show($('#letter-metadata'), $('#letter-metadata dl').children.length > 0);
    $('#letter-payload').value = this.#readable();
    tell($('#letter-problem'), null);
    this.#touched();
  }

  // #readable is the payload as people read it.
  #readable() {
    const { payload, encoding } = this.#letter;
    this.#compact = false;
    if (encoding !== 'utf-8') return payload;
    try {
      const pretty = JSON.stringify(JSON.parse(payload), null, 2);
      this.#compact = !payload.includes('\n');
      return pretty;
    } catch {
      return payload;
    }
  }

  #touched() {
    const same = $('#letter-payload').value === this.#readable();
    $('#letter-save').disabled = same;
    $('#letter-redrive').disabled = !same; // what is not saved would not be sent
  }

  async #save() {
    let payload = $('#letter-payload').value;
    if (this.#compact) {
      try {
        payload = JSON.stringify(JSON.parse(payload));
      } catch (error) {
        tell($('#letter-problem'), { title: t('ops.letter.refused', { why: error.message }) });
        return;
      }
    }
    $('#letter-save').disabled = true;
    try {
      await put(this.#path(this.#topic, this.#letter.id), { payload, encoding: this.#letter.encoding }, { token: this.#token(), patience: 30000 });
    } catch (error) {
      if (!error.title) throw error;
      $('#letter-save').disabled = false;
      tell($('#letter-problem'), error.type === 'payload-refused' ? { title: t('ops.letter.refused', { why: error.body.detail }) } : error);
      return;
    }
    this.#letter = { ...this.#letter, payload, edits: this.#letter.edits + 1 };
    this.#show();
    announce(t('ops.letter.saved'));
    $('#letter-redrive').focus();
    this.#changed();
  }
}
