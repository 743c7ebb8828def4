// Whether the member is in a chat's room, which is the same in all tabs.

import { Problem, Unreachable, get, post, remove } from './api.js';
import { session } from './session.js';

// Membership tells "change", and before it "left" when the member has left the room.
export class Membership extends EventTarget {
  joined = null; // not known

  #room;
  #path;
  #asked = 0; // answers to older questions are dropped
  #tabs = new BroadcastChannel('boxoffice.rooms');

  constructor(room) {
    super();
    this.#room = room;
    this.#path = `/api/rooms/${encodeURIComponent(room)}`;
    this.#tabs.onmessage = ({ data }) => { if (data.member === session.memberId && data.room === room) this.#turn(data.joined); };
    session.changes.addEventListener('change', () => this.load());
  }

  // load asks the office; while it does not say, nothing is known.
  async load() {
    this.#turn(null);
    if (!session.signedIn) return;
    const mine = this.#asked;
    try {
      const { joined } = await get(`${this.#path}/messages?limit=1`, { repeat: false });
      if (mine === this.#asked) this.#turn(joined === true);
    } catch (error) {
      if (!(error instanceof Problem) && !(error instanceof Unreachable)) throw error;
    }
  }

  async join() {
    await post(`${this.#path}/join`, {}, { repeat: true });
    this.#tell(true);
  }

  async leave() {
    await remove(`${this.#path}/join`, { repeat: true });
    this.#tell(false);
  }

  #tell(joined) {
    this.#turn(joined);
    this.#tabs.postMessage({ member: session.memberId, room: this.#room, joined });
  }

  #turn(joined) {
    this.#asked += 1;
    if (this.joined === joined) return;
    const left = this.joined === true && joined === false;
    this.joined = joined;
    if (left) this.dispatchEvent(new Event('left'));
    this.dispatchEvent(new Event('change'));
  }
}
