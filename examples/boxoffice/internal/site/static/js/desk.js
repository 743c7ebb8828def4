// A page with the member's own data, loaded while the member is signed in.

import { Problem } from './api.js';
import { $, show } from './dom.js';
import { poll } from './poll.js';
import { session, signedIn } from './session.js';

export class Desk {
  #load;
  #options;
  #polling = null;

  // load fills the page, and returns its next interval to poll. parts are hidden without
  // a sign-in, and why tells the visitor the purpose of the name.
  constructor(load, options) {
    this.#load = load;
    this.#options = options;
    $('#signin-now').addEventListener('click', async () => { if (await signedIn(options.why)) this.#start(); });
    this.#start();
  }

  now() { this.#polling?.now(); }

  #start() {
    this.#polling?.stop();
    if (session.signedIn) this.#polling = poll(() => this.#look(), this.#options.every);
    else this.#turn(false);
  }

  async #look() {
    try {
      const wait = await this.#load();
      this.#turn(true);
      return wait;
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 401) throw error;
      this.#turn(false);
      return false;
    }
  }

  #turn(signed) {
    show($('#loading'), false);
    show($('#signed-out'), !signed);
    if (!signed) for (const part of this.#options.parts) show($(part), false);
  }
}
