// A question that must be answered before something is given up.

import { $ } from './dom.js';

// confirmed asks in the page's dialog and resolves to true for yes. Escape and
// the safe button, which has the focus, mean no.
export function confirmed({ title, text, yes, no }) {
  const dialog = $('#confirm');
  $('#confirm-title').textContent = title;
  $('#confirm-text').textContent = text;
  $('#confirm-yes').textContent = yes;
  $('#confirm-no').textContent = no;
  dialog.returnValue = '';
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true });
  });
}
