// The opening of a show's sale: when it is, and afterwards which place the draw gave.

import { Problem, get, now } from './api.js';
import { $, announce, setText, show, tell } from './dom.js';
import { placeOf } from './draw.js';
import { moment, number, t, tn } from './i18n.js';
import { signedIn } from './session.js';

const SPREAD = 10000; // ms after the opening in which the pages of a crowd look again
const LONGEST = 2 ** 31 - 1; // ms that a timer of a browser can wait

export class Opening {
  #path;
  #draw = null;

  constructor(id) {
    this.#path = (what) => `/api/queue/${what(encodeURIComponent(id))}`;
    $('#opening-check').addEventListener('click', () => this.#check());
  }

  // load reads the opening. A show without one has no such section.
  async load() {
    this.#draw = await get(this.#path((id) => `draw/${id}`)); // {} without an opening
    if (this.#draw.opens) this.#render();
  }

  #render() {
    const { opens, seed, count } = this.#draw;
    const left = Date.parse(opens) - now();
    const drawn = Boolean(seed) && left <= 0;
    setText($('#opening-text'), drawn ? tn('opening.drawn', count) : t('opening.at', { time: moment(new Date(opens)) }));
    show($('#opening-check'), drawn && count > 0 && Boolean(globalThis.crypto?.subtle));
    show($('#opening'));
    const wait = Math.max(left, 0) + Math.random() * SPREAD;
    if (!drawn && wait < LONGEST) setTimeout(() => this.load().catch(() => {}), wait);
  }

  async #check() {
    if (!await signedIn(t('opening.signin'))) return;
    const button = $('#opening-check');
    button.disabled = true;
    tell($('#opening-problem'), null);
    try {
      const { leaf } = await get(this.#path((id) => `receipt/${id}`));
      const response = await fetch(this.#path((id) => `draw/${id}/leaves`));
      if (!response.ok) throw new Problem(response.status, {});
      const leaves = (await response.text()).trim().split('\n');
      this.#say(await placeOf(this.#draw, leaves, leaf));
    } catch (error) {
      tell($('#opening-problem'), error.title ? error : { title: t('problem.title') });
    } finally {
      button.disabled = false;
    }
  }

  #say(place) {
    const text = place === null ? t('opening.broken') : place === 0 ? t('opening.none')
      : t('opening.place', { n: number(place), count: number(this.#draw.count) });
    setText($('#opening-place'), text);
    announce(text);
  }
}
