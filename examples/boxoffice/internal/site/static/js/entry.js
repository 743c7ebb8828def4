// The entry token: the way past the waiting room, one per event. The cookie
// that comes with it is the browser's business; the header is ours.

import { post } from './api.js';
import { lang } from './i18n.js';

const key = (event) => `boxoffice.entry.${event}`;

export const entry = {
  headers(event) {
    const token = sessionStorage.getItem(key(event));
    return token ? { 'x-queue-entry-token': token } : {};
  },

  known: (event) => sessionStorage.getItem(key(event)) !== null,

  forget: (event) => sessionStorage.removeItem(key(event)),

  // check asks the waiting room and keeps the token of an admitted visitor.
  async check(event) {
    const answer = await post(`/api/queue/check/${encodeURIComponent(event)}`, {}, { repeat: true });
    if (answer.status === 'active' && answer.entryToken) sessionStorage.setItem(key(event), answer.entryToken);
    return answer;
  },

  // heartbeat says that the visitor is still here. It does not join the line.
  async heartbeat(event) {
    const answer = await post(`/api/queue/heartbeat/${encodeURIComponent(event)}`, {});
    if (answer.status === 'active' && answer.entryToken) sessionStorage.setItem(key(event), answer.entryToken);
    return answer;
  },

  async leave(event) {
    this.forget(event);
    await post(`/api/queue/leave/${encodeURIComponent(event)}`, {});
  },
};

export const roomAddress = (event) => `/queue/${encodeURIComponent(event)}?lang=${lang}`;
