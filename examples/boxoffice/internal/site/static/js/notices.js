// A notification's kind in words, its sign, its link, and its sentence in the page's
// language.

import { svg } from './dom.js';
import { known, plural, t } from './i18n.js';

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
    case 'TRANSFER': return { title: t('notice.transfer'), sign: 'ticket', href: '/transfers' };
    default: return { title: t('notice.other'), sign: 'bell', href: '' };
  }
}

const ODD = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

// clean makes a value plain text, as package notices does.
const clean = (text) => text.replace(ODD, ' ').trim();

const and = (list) => (list.length < 2 ? list.join('') : t('list.and', { first: list.slice(0, -1).join(', '), last: list.at(-1) }));

// sentence is the text for the parameters, or '' when no text fits them. It is the twin
// of notices.Text in Go: the same texts, chosen in the same way.
function sentence(type, { member = '', show: title = '', seats = [], outcome = '', reason = '', songs = [] }) {
  const parts = [type, outcome, outcome && reason].filter((part, i) => i === 0 || part);
  const form = `.${plural(Math.max(seats.length, songs.length))}`;
  const values = { member, show: title, seats: seats.join(', '), songs: and(songs) };
  for (; parts.length > 0; parts.pop()) {
    const name = `notice.text.${parts.join('.')}`;
    const key = (seats.length || songs.length) && known(name + form) ? name + form : name;
    if (!known(key)) continue;
    let whole = true;
    const text = t(key).replace(/\{(\w+)\}/g, (_, value) => {
      const filled = clean(values[value] ?? '');
      whole &&= filled !== '';
      return filled;
    });
    return whole ? text : '';
  }
  return '';
}

// textOf is the sentence of a notification. One from before there were parameters has
// only its message.
export const textOf = ({ type, params, message }) => sentence(type, params ?? {}) || clean(message ?? '') || t('notice.text.other');
