// Requests, and when to make the next one.

// ms for an answer
const patience = 15000;
// ms between requests of a hidden tab
const hiddenEvery = 60000;

function bearer() {
  if (!config.bearerKey) return '';
  const saved = local.get(config.bearerKey);
  if (!saved || !config.bearerField) return saved || '';
  try {
    return JSON.parse(saved)[config.bearerField] || '';
  } catch {
    return '';
  }
}

// retryAfter is in seconds, whether it came as a number or as a date of the server's clock.
function retryAfter(response) {
  const value = response.headers.get('Retry-After');
  if (!value) return 0;
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.parse(response.headers.get('Date'))) / 1000;
  return Math.min(Math.max(seconds || 0, 0), 300);
}

// ask resolves to { status, body, retryAfter }; status 0 is no answer.
async function ask(method, path, headers = {}) {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), patience);
  const token = bearer();
  try {
    const response = await fetch(path, {
      method,
      headers: {
        Accept: 'application/json',
        ...(method === 'POST' && { 'Content-Type': 'application/json' }),
        ...(token && { Authorization: `Bearer ${token}` }),
        ...headers,
      },
      body: method === 'POST' ? '{}' : undefined,
      cache: 'no-store',
      credentials: 'same-origin',
      signal: limit.signal,
    });
    const text = await response.text();
    let body = null;
    try {
      body = JSON.parse(text);
    } catch {
      // No JSON: something between us and the room has answered.
    }
    if (body === null || typeof body !== 'object') body = response.status === 204 ? {} : null;
    // A guard before the room has sent the request to a page.
    if (response.redirected && body === null) body = { redirectTo: response.url.slice(location.origin.length) };
    return { status: response.status, body, retryAfter: retryAfter(response) };
  } catch {
    return { status: 0, body: null, retryAfter: 0 };
  } finally {
    clearTimeout(timer);
  }
}

const loop = {
  // the next question; null while there is none
  task: null,
  timer: 0,
  busy: false,
  // the task under way, or the last one
  current: null,
  due: 0,
  // the server's Retry-After
  earliest: 0,
  asked: 0,
  fails: 0,

  run(task) {
    this.task = task;
    this.fails = 0;
    this.again(0);
  },

  stop() {
    this.task = null;
    clearTimeout(this.timer);
  },

  again(seconds) {
    this.due = Date.now() + seconds * 1000;
    this.arm();
  },

  arm() {
    clearTimeout(this.timer);
    if (this.task === null || this.busy) return;
    // The bound is for a clock that was set back.
    const at = Math.max(this.due, this.earliest, document.hidden && this.asked ? this.asked + hiddenEvery : 0);
    this.timer = setTimeout(() => this.step(), Math.min(Math.max(at - Date.now(), 0), 330000));
  },

  async step() {
    if (this.busy || this.task === null) return;
    this.busy = true;
    this.asked = Date.now();
    this.current = this.task();
    try {
      await this.current;
    } finally {
      this.busy = false;
      this.arm();
    }
  },
  // failed waits longer each time, never less than the server asks for, and not
  // all at the same moment.
  failed(seconds) {
    const wait = Math.min(30, 2 ** Math.min(++this.fails, 5));
    this.earliest = Date.now() + seconds * 1000;
    this.again(Math.max(wait, seconds) + Math.random() * Math.max(wait, Math.min(seconds, 10)) * 0.5);
  },
};

const pollAfter = (body) => Math.min(Math.max(Number(body.nextPoll) || 3, 1), 300);
