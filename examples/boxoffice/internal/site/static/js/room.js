// One chat room, message by message in its order. A WebSocket brings them; while
// there is none they are asked for, so that a proxy that lets no socket through
// makes a chat slow and not silent.

import { Unreachable, get, post } from './api.js';
import { poll } from './poll.js';
import { session } from './session.js';

const PAGE = 50;
const EVERY = 3000; // ms between two looks while there is no socket
const WAITS = [1000, 2000, 5000, 15000, 30000]; // ms until the next socket is tried

// Room tells "message" (in order, each once), "earlier" (a list) and "state", which
// is live, polling or closed.
export class Room extends EventTarget {
  state = 'closed';

  more = false; // there are earlier messages

  #path;
  #id;
  #membership;
  #first = 0;
  #last = 0;
  #socket = null;
  #polling = null;
  #tries = 0;
  #retrying = 0;
  #asking = null;
  #visit = 0; // one that was closed goes no further

  constructor(id, membership) {
    super();
    this.#id = id;
    this.#membership = membership;
    this.#path = `/api/rooms/${encodeURIComponent(id)}`;
  }

  // open joins the room, shows its last messages and stays for more.
  async open() {
    this.#visit += 1;
    const visit = this.#visit;
    await this.#membership.join();
    if (visit !== this.#visit) return;
    if (this.#last === 0) {
      const messages = await this.#read({});
      if (visit !== this.#visit) return;
      this.more = messages.length === PAGE && messages[0].seq > 1;
      this.#take(messages);
    }
    this.#turn('polling');
    this.#connect();
  }

  close() {
    this.#visit += 1;
    clearTimeout(this.#retrying);
    this.#turn('closed');
    this.#polling?.stop();
    this.#polling = null;
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  // begin says that older messages are not shown.
  begin(seq) {
    this.#first = seq;
    this.more = seq > 1;
  }

  async earlier() {
    const messages = await this.#read({ before: this.#first });
    this.more = messages.length === PAGE && messages[0].seq > 1;
    if (messages.length > 0) this.#first = messages[0].seq;
    this.dispatchEvent(new CustomEvent('earlier', { detail: messages }));
  }

  // send resolves to the message's id once it is stored for good; it is shown when
  // it comes back, in its place.
  async send(text) {
    const { id } = await post(`${this.#path}/messages`, { text });
    if (!this.#socket) this.#polling?.now();
    return id;
  }

  #turn(state) {
    if (this.state === state) return;
    this.state = state;
    this.dispatchEvent(new Event('state'));
  }

  async #read(query) {
    const { messages } = await get(`${this.#path}/messages?${new URLSearchParams({ limit: PAGE, ...query })}`, { repeat: false });
    return messages.sort((a, b) => a.seq - b.seq);
  }

  #take(messages) {
    for (const message of messages) {
      if (message.seq <= this.#last) continue;
      this.#last = message.seq;
      this.#first ||= message.seq;
      this.dispatchEvent(new CustomEvent('message', { detail: message }));
    }
  }

  // #catchUp reads the missing messages, one request at a time.
  #catchUp() {
    this.#asking ??= (async () => {
      for (;;) {
        const messages = await this.#read({ after: this.#last });
        this.#take(messages);
        if (messages.length < PAGE) return;
      }
    })().finally(() => { this.#asking = null; });
    return this.#asking;
  }

  async #connect() {
    clearTimeout(this.#retrying);
    let ticket;
    try {
      ({ ticket } = await post('/api/notifications/ticket', {}));
    } catch (error) {
      if (error instanceof Unreachable || error.status !== 401) this.#lost();
      return;
    }
    if (this.state === 'closed' || this.#socket || !session.signedIn) return;
    const address = new URL(`${this.#path}/ws`, location.href);
    address.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
    address.search = new URLSearchParams({ ticket, after: this.#last });
    const socket = new WebSocket(address);
    this.#socket = socket;
    socket.onopen = () => {
      if (socket !== this.#socket) return;
      this.#tries = 0;
      this.#polling?.stop();
      this.#polling = null;
      this.#turn('live');
    };
    socket.onmessage = ({ data }) => { if (socket === this.#socket) this.#heard(data); };
    socket.onclose = () => {
      if (socket !== this.#socket) return;
      this.#socket = null;
      this.#lost();
    };
  }

  #heard(data) {
    let message;
    try {
      message = JSON.parse(data);
    } catch {
      return;
    }
    if (!Number.isInteger(message.seq)) return; // not a message of the room
    if (message.seq > this.#last + 1) this.#catchUp().catch(() => this.#socket?.close()); // a gap: it resumes from what is here
    else this.#take([message]);
  }

  // #lost asks for messages until a socket opens.
  #lost() {
    if (this.state === 'closed') return;
    this.#turn('polling');
    this.#polling ??= poll(() => this.#catchUp(), EVERY);
    clearTimeout(this.#retrying);
    this.#retrying = setTimeout(() => this.#connect(), WAITS[Math.min(this.#tries, WAITS.length - 1)] * (0.75 + Math.random() / 2));
    this.#tries += 1;
  }
}
