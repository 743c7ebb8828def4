// Keeps the numbers of a show current while somebody reads about it.

import './site.js';
import { get } from './api.js';
import { $, $$, setText } from './dom.js';
import { number, t } from './i18n.js';
import { poll } from './poll.js';

const id = document.body.dataset.event;

function render({ seats }) {
  for (const element of $$('[data-count]')) setText(element, number(seats[element.dataset.count]));
  const box = $('#availability .availability');
  if (!box) return;
  const percent = Math.ceil((100 * seats.available) / seats.total);
  $('.left', box).setAttribute('width', percent);
  const few = seats.available > 0 && percent < 15;
  box.classList.toggle('none', seats.available === 0);
  box.classList.toggle('few', few);
  setText($('span', box), seats.available === 0 ? t('shows.soldout') : few ? t('shows.few', { n: seats.available })
    : t('shows.left', { n: seats.available, total: seats.total }));
}

poll(async () => render(await get(`/api/shows/${encodeURIComponent(id)}`)), 5000);
