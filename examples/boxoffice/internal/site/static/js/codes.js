// The codes of a ticket's seats. They are fetched on demand and are in no address,
// because a code is enough to use the ticket.

import { Problem, get } from './api.js';
import { h, svg, tell } from './dom.js';
import { moment, t } from './i18n.js';

// codesOf is a part of the page that opens to the QR code of each seat.
export function codesOf(ticket, title) {
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true });
  const list = h('ul');
  const hint = h('p', { class: 'hint' }, t('codes.loading'));
  const element = h('details', { class: 'codes' }, h('summary', {}, t('codes.show')), hint, problem, list);
  element.addEventListener('toggle', async () => {
    if (!element.open) return;
    tell(problem, null);
    try {
      const { codes } = await get(`/api/me/tickets/${encodeURIComponent(ticket.reservationId)}/codes`);
      hint.textContent = t('codes.hint');
      list.replaceChildren(...codes.map((code) => draw(code, title)));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      list.replaceChildren();
      tell(problem, error);
    }
  });
  return element;
}

function draw({ seatId, code, picture: { size, path }, usedAt }, title) {
  const alt = t('codes.alt', { title, seat: seatId });
  return h('li', { class: usedAt ? 'used' : '' },
    svg('svg', { class: 'qr', viewBox: `0 0 ${size} ${size}`, role: 'img', 'aria-label': alt, 'shape-rendering': 'crispEdges' }, svg('path', { d: path })),
    h('strong', {}, t('codes.seat', { seat: seatId })),
    usedAt && h('span', { class: 'state' }, t('codes.used', { time: moment(new Date(usedAt)) })),
    h('details', {}, h('summary', {}, t('codes.copy')), h('code', {}, code)));
}
