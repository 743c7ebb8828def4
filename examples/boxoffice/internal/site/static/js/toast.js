// Short news at the edge of the page. A screen reader says it politely. It goes after a
// while unless it has the pointer or the focus, and can always be read elsewhere too.

import { $, h } from './dom.js';
import { t } from './i18n.js';

const STAYS = 9000; // ms
const MOST = 3; // at a time

const shown = new Map(); // key → element

// toast shows a text with its link or its action. It replaces earlier news with the
// same key. News that stays has a button to close it.
export function toast({ key, title, text, href = '', action = null, stays = false, kind = '' }) {
  shown.get(key)?.leave();
  const element = h('div', { class: `toast ${kind}${stays ? ' stays' : ''}` },
    h('p', {}, h('strong', {}, title), h('span', {}, text)),
    href && h('a', { class: 'button small', href }, t('toast.show')),
    action && h('button', {
      type: 'button', class: 'button small',
      onclick: () => {
        element.leave();
        action.run();
      },
    }, action.label),
    h('button', { type: 'button', class: 'button quiet small close', 'aria-label': t('toast.close', { title }), onclick: () => element.leave() }, '×'));
  let timer = 0;
  element.leave = () => {
    clearTimeout(timer);
    element.remove();
    if (shown.get(key) === element) shown.delete(key);
  };
  const wait = () => {
    clearTimeout(timer);
    if (!stays) timer = setTimeout(element.leave, STAYS);
  };
  for (const name of ['pointerenter', 'focusin']) element.addEventListener(name, () => clearTimeout(timer));
  for (const name of ['pointerleave', 'focusout']) element.addEventListener(name, wait);
  wait();
  shown.set(key, element);
  $('#toasts').append(element);
  const fleeting = [...shown.values()].filter((other) => other !== element && !other.classList.contains('stays'));
  while (fleeting.length >= MOST) fleeting.shift().leave();
  return element;
}

export const untoast = (key) => shown.get(key)?.leave();

// hush is for pages where the news can be read: it removes all but those that wait for
// an answer.
export function hush() {
  for (const element of [...shown.values()]) if (!element.classList.contains('stays')) element.leave();
}
