// The JSON API: bearer token, entry token, problem+json, and the difference
// between "the box office said no" (Problem) and "it said nothing" (Unreachable).

import { isDown, lost, whenUp } from './connection.js';
import { known, money, t } from './i18n.js';
import { session } from './session.js';

export class Problem extends Error {
  constructor(status, body, retryAfter = null) {
    super(body.title || body.error || t('problem.title'));
    this.name = 'Problem';
    this.status = status;
    this.retryAfter = Number(retryAfter) || 0; // seconds; 0 when the answer does not say
    this.type = (body.type || '').split('/').pop();
    this.body = body;
    // Errors that users meet have texts in their language; the others have the API's text.
    const key = `problem.${this.type}`;
    this.title = known(key) ? t(key, { ...body, seats: body.seats?.join(', '), amount: money(body.expected ?? 0) }) : this.message;
    this.detail = known(key) ? '' : (body.detail || '');
  }
}

export class Unreachable extends Error {
  constructor() {
    super(t('offline.title'));
    this.name = 'Unreachable';
    this.title = this.message;
    this.detail = t('offline.safe');
  }
}

let skew = 0; // server's clock − ours, in ms
let tightest = Infinity; // how long the request took that told us

// now is the server's time. The server's clock decides when a hold ends.
export const now = () => Date.now() + skew;

function learnClock(response, sent) {
  const date = Date.parse(response.headers.get('Date') ?? '');
  const took = Date.now() - sent;
  // The header is cut to seconds, so half a second is missing on average.
  const told = date + 500 - (sent + took / 2);
  // Two that differ by more than they can be wrong: our clock was set.
  const set = Math.abs(told - skew) > 1000 + (took + tightest) / 2;
  if (Number.isNaN(date) || (took > tightest && !set)) return;
  tightest = took;
  skew = told;
}

async function once(method, path, { body, headers = {}, signal, token = session.token, patience = 15000, keepalive = false } = {}) {
  const init = { method, headers: { Accept: 'application/json', ...headers }, cache: 'no-store', keepalive };
  if (token) init.headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) {
    init.headers['Content-Type'] = 'application/json';
    init.body = JSON.stringify(body);
  }
  const limit = AbortSignal.timeout(patience);
  init.signal = signal ? AbortSignal.any([signal, limit]) : limit;

  const sent = Date.now();
  let response;
  let text;
  try {
    response = await fetch(path, init);
    text = await response.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    lost();
    throw new Unreachable();
  }
  learnClock(response, sent);
  if (response.status === 502 || response.status === 504) {
    lost();
    throw new Unreachable();
  }
  let json = {};
  try {
    if (text) json = JSON.parse(text);
  } catch {
    json = { title: t('problem.title'), detail: t('problem.unreadable', { status: response.status }) };
  }
  if (response.status === 304 || response.ok) return { status: response.status, headers: response.headers, json };
  if (response.status === 401 && token === session.token) session.forget();
  throw new Problem(response.status, json, response.headers.get('Retry-After'));
}

const pause = (seconds) => new Promise((resolve) => { setTimeout(resolve, 1000 * seconds); });

// call makes one request. With repeat it is made again, as often as needed,
// whenever the box office did not answer, and a few times when it asked to be
// asked again: only for requests that may arrive twice, which are reads and
// those under an idempotency key.
export async function call(method, path, options = {}) {
  for (let busy = 0; ;) {
    if (options.repeat && isDown()) await whenUp();
    try {
      return await once(method, path, options);
    } catch (error) {
      if (!options.repeat) throw error;
      if (error instanceof Problem && error.status === 503 && error.retryAfter > 0 && busy < 5) {
        busy += 1;
        await pause(Math.min(error.retryAfter, 5));
      } else if (!(error instanceof Unreachable)) {
        throw error;
      }
    }
  }
}

export const get = async (path, options) => (await call('GET', path, { repeat: true, ...options })).json;
export const post = async (path, body, options) => (await call('POST', path, { body, ...options })).json;
export const put = async (path, body, options) => (await call('PUT', path, { body, ...options })).json;
export const remove = async (path, options) => (await call('DELETE', path, options)).json;
