// What a notification is about: its kind in words, its sign, and where it leads.

import { svg } from './dom.js';
import { t } from './i18n.js';

const signs = {
  person: 'M12 12.5a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM4.5 20c.8-3.6 3.8-5.5 7.5-5.5s6.7 1.9 7.5 5.5',
  heart: 'M12 20S4 15 4 9.3A4.3 4.3 0 0 1 12 7a4.3 4.3 0 0 1 8 2.3C20 15 12 20 12 20Z',
  bubble: 'M4.5 5.5h15v10h-8l-4 4v-4h-3Z',
  ballot: 'M5 4.5h14v15H5ZM8.5 12l2.5 2.5 4.5-5',
  ticket: 'M4 7h16v3.5a1.5 1.5 0 0 0 0 3V17H4v-3.5a1.5 1.5 0 0 0 0-3ZM14 7v10',
  bell: 'M6 16.5V11a6 6 0 0 1 12 0v5.5l1.5 1.5h-15ZM10 20.5h4',
};

export const sign = (name) => svg('svg', { class: 'sign', viewBox: '0 0 24 24', 'aria-hidden': 'true', focusable: 'false' }, svg('path', { d: signs[name] }));

const show = (id, part = '') => `/shows/${encodeURIComponent(id)}${part}`;

export function about({ type, refId }) {
  switch (type) {
    case 'FOLLOW': return { title: t('notice.follow'), sign: 'person', href: '' };
    case 'POST_LIKE': return { title: t('notice.like'), sign: 'heart', href: show(refId) };
    case 'COMMENT': return { title: t('notice.comment'), sign: 'bubble', href: show(refId, '#comments') };
    case 'VOTE_CLOSED': return { title: t('notice.vote'), sign: 'ballot', href: show(refId, '#vote') };
    case 'RESERVATION': return { title: t('notice.reservation'), sign: 'ticket', href: '/tickets' };
    default: return { title: t('notice.other'), sign: 'bell', href: '' };
  }
}
