// A question that must be answered before something is given up.

import { $ } from './dom.js';

let unanswered = () => {};

// confirmed asks in the page's dialog and resolves to true for yes. Escape and
// the safe button, which has the focus, mean no. The button for yes is red unless
// danger is false.
export function confirmed({ title, text, yes, no, danger = true }) {
  unanswered(false);
  const dialog = $('#confirm');
  $('#confirm-title').textContent = title;
  $('#confirm-text').textContent = text;
  $('#confirm-yes').textContent = yes;
  $('#confirm-yes').className = `button ${danger ? 'danger' : 'primary'}`;
  $('#confirm-no').textContent = no;
  dialog.showModal();
  return new Promise((resolve) => {
    const asked = new AbortController();
    const { signal } = asked;
    const answer = (value) => {
      asked.abort();
      resolve(value);
    };
    unanswered = answer;
    $('form', dialog).addEventListener('submit', (event) => answer(event.submitter?.value === 'yes'), { signal });
    // The close event comes a moment after the dialog has closed, and the next question
    // can be open by then: a close event while the dialog is open is ignored.
    dialog.addEventListener('close', () => { if (!dialog.open) answer(false); }, { signal });
  });
}
