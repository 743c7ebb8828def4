// The vote on a show's ending. A choice can be changed until the deadline. The others'
// choices are shown after the member's own.

import { Problem, get, now, post } from './api.js';
import { $, announce, attempt, h, setText, show } from './dom.js';
import { clock, t, tn } from './i18n.js';
import { signedIn } from './session.js';

const DAY = 86400000;

export class Vote {
  #path;
  #vote = null;
  #asked = 0; // answers to older questions are dropped
  #drawn = '';

  constructor(id) {
    this.#path = `/api/shows/${encodeURIComponent(id)}/vote`;
    $('#vote-form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.#cast();
    });
    $('#vote-form').addEventListener('change', () => this.#buttons());
    setInterval(() => this.#tick(), 1000);
  }

  // load reads how the vote stands. Without a vote the section is hidden, and false ends
  // the polling.
  async load() {
    this.#asked += 1;
    const asked = this.#asked;
    let vote = null;
    try {
      vote = await get(this.#path);
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 404) throw error;
    }
    if (asked !== this.#asked) return true;
    this.#vote = vote;
    show($('#vote'), this.#vote !== null);
    if (this.#vote) this.#render();
    return this.#vote !== null;
  }

  get #closed() { return this.#vote.open === false || Date.parse(this.#vote.closesAt) <= now(); }

  #render() {
    const { options, counts = {}, choice = '' } = this.#vote;
    const closed = this.#closed;
    const told = closed || choice !== '';
    const total = Object.values(counts).reduce((sum, n) => sum + n, 0);
    if (this.#drawn !== options.join('\n')) {
      this.#drawn = options.join('\n');
      $('#vote-options').replaceChildren(...options.map((option) => h('label', { class: 'option' },
        h('input', { type: 'radio', name: 'option', value: option }), h('span', { class: 'title' }, option),
        h('span', { class: 'n' }), h('progress', { max: 100, value: 0, 'aria-hidden': 'true' }))));
      this.#choose(choice);
    }
    if (choice !== '' && !this.#picked) this.#choose(choice);
    for (const label of $('#vote-options').children) {
      const input = $('input', label);
      const n = counts[input.value] ?? 0;
      input.disabled = closed;
      label.classList.toggle('chosen', input.value === choice);
      $('progress', label).value = total > 0 ? (100 * n) / total : 0;
      show($('progress', label), told);
      setText($('.n', label), told ? tn('vote.votes', n) : '');
    }
    setText($('#vote-total'), told ? tn('vote.total', total) : t('vote.hidden'));
    this.#buttons();
    this.#tick();
  }

  get #picked() { return $('#vote-form').elements.option?.value ?? ''; }

  #choose(choice) { for (const input of $('#vote-options').querySelectorAll('input')) input.checked = input.value === choice; }

  #buttons() {
    if (!this.#vote) return;
    const { choice = '' } = this.#vote;
    const button = $('#vote-form [type=submit]');
    show(button, !this.#closed);
    button.disabled = this.#picked === '' || this.#picked === choice;
    setText(button, choice === '' ? t('vote.cast') : t('vote.change'));
  }

  #tick() {
    if (!this.#vote) return;
    const left = Date.parse(this.#vote.closesAt) - now();
    const deadline = $('#vote-deadline');
    if (this.#closed) {
      if (deadline.dataset.closed !== 'yes') {
        deadline.dataset.closed = 'yes';
        setText(deadline, t('vote.closed'));
        this.#render();
      }
      return;
    }
    delete deadline.dataset.closed;
    setText(deadline, left < DAY ? t('vote.closesin', { time: left < 3600000 ? clock(left) : tn('vote.hours', Math.ceil(left / 3600000)) })
      : t('vote.closesat', { time: new Date(this.#vote.closesAt).toLocaleString(document.documentElement.lang, { dateStyle: 'medium', timeStyle: 'short' }) }));
  }

  async #cast() {
    const option = this.#picked;
    if (option === '' || !await signedIn(t('vote.signin'))) return;
    await attempt($('#vote-form [type=submit]'), $('#vote-problem'), async () => {
      // The last choice counts, so it may arrive twice.
      await post(this.#path, { option }, { repeat: true });
      announce(t('vote.done', { option }));
      await this.load();
    });
    this.#buttons();
  }

  // again is for a sign-in by another member.
  async again() {
    this.#choose('');
    await this.load();
  }
}
