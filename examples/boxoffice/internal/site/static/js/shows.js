// Titles of shows, for pages that know an event only by its id.

import { get } from './api.js';

const titles = new Map();

export function titleOf(id) {
  if (!titles.has(id)) {
    titles.set(id, get(`/api/shows/${encodeURIComponent(id)}`).then((show) => show.title, () => id));
  }
  return titles.get(id);
}
