// The heart of a show.

import { get, post, remove } from './api.js';
import { $, announce, attempt } from './dom.js';
import { t } from './i18n.js';
import { session, signedIn } from './session.js';

export class Like {
  #id;
  #changed;
  #liked = false;
  #asked = 0; // answers to older questions are dropped
  #button = $('#like');

  // changed is called when the show has one like more or less.
  constructor(id, changed) {
    this.#id = id;
    this.#changed = changed;
    this.#button.addEventListener('click', () => this.#toggle());
  }

  async load() {
    this.#asked += 1;
    const asked = this.#asked;
    const { shows } = session.memberId === '' ? { shows: [] } : await get('/api/me/likes');
    if (asked === this.#asked) this.#is(shows.includes(this.#id));
  }

  #is(liked) {
    this.#liked = liked;
    this.#button.setAttribute('aria-pressed', String(liked));
  }

  // #toggle shows the wish at once, and takes it back when it was refused.
  async #toggle() {
    if (!session.signedIn) {
      if (!await signedIn(t('like.signin'))) return;
      await this.load();
      if (this.#liked) return;
    }
    const wanted = !this.#liked;
    const path = `/api/shows/${encodeURIComponent(this.#id)}/like`;
    this.#asked += 1;
    this.#is(wanted);
    const done = await attempt(this.#button, $('#like-problem'), async () => {
      if (wanted) await post(path, {}, { repeat: true });
      else await remove(path, { repeat: true });
      announce(wanted ? t('like.done') : t('like.undone'));
      this.#changed(wanted ? 1 : -1);
    });
    if (!done) this.#is(!wanted);
    this.#button.focus();
  }
}
