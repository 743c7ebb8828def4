// A payment that is asked for once, whatever happens on the way.

import { Problem, post } from './api.js';

const UNDECIDED = [401, 403, 408, 429]; // they say nothing of an earlier request under the key

// refuses is whether an answer ends its key.
export const refuses = ({ status }) => status < 500 && !UNDECIDED.includes(status);

// Keyed asks for payments under a key that stays the same until the box office has
// taken or refused one, also over a reload: a request whose answer was lost, or told of an
// error of the office, is repeated, and is never paid twice.
export class Keyed {
  #name;

  constructor(name) { this.#name = `boxoffice.keyed.${name}`; }

  async ask(path, body) {
    const asked = JSON.stringify(body);
    const kept = JSON.parse(sessionStorage.getItem(this.#name) ?? '{}');
    const key = kept.asked === asked ? kept.key : crypto.randomUUID();
    sessionStorage.setItem(this.#name, JSON.stringify({ key, asked }));
    try {
      const answer = await post(path, body, { repeat: true, headers: { 'Idempotency-Key': key } });
      sessionStorage.removeItem(this.#name);
      return answer;
    } catch (error) {
      if (error instanceof Problem && refuses(error)) sessionStorage.removeItem(this.#name);
      throw error;
    }
  }
}
