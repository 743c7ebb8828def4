// The visitor's sign-in: the bearer token of POST /api/login, kept in localStorage
// so that all tabs share it, and the dialog that asks for a name when needed.

import { $, attempt, show, tell } from './dom.js';
import { t } from './i18n.js';

const KEY = 'boxoffice.session';
const OWNER = 'boxoffice.owner';

// own drops the entry tokens and checkouts that this tab has kept for another member.
// The same member coming back after an expired sign-in finds everything where it was.
function own(memberId) {
  const owner = sessionStorage.getItem(OWNER);
  if (owner !== null && owner !== memberId) sessionStorage.clear();
  sessionStorage.setItem(OWNER, memberId);
}

export const session = {
  token: '',
  memberId: '',
  changes: new EventTarget(),

  get signedIn() { return this.token !== ''; },

  load() {
    let saved = {};
    try {
      saved = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    } catch {
      localStorage.removeItem(KEY);
    }
    this.token = saved.token ?? ''; // the box office says when it has expired
    this.memberId = saved.memberId ?? '';
    if (this.memberId !== '') own(this.memberId);
  },

  async signIn(memberId) {
    const { post } = await import('./api.js');
    const { token } = await post('/api/login', { memberId }, { token: '' });
    localStorage.setItem(KEY, JSON.stringify({ token, memberId }));
    this.load();
    this.changes.dispatchEvent(new Event('change'));
  },

  forget() {
    localStorage.removeItem(KEY);
    this.load();
    this.changes.dispatchEvent(new Event('change'));
  },
};

session.load();
addEventListener('storage', (event) => {
  if (event.key !== KEY) return;
  session.load();
  session.changes.dispatchEvent(new Event('change'));
});

// handleForm signs in by a form with the sign-in fields and calls done after.
export function handleForm(form, done) {
  const input = $('input[name=memberId]', form);
  const problem = $('.problem', form);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const memberId = input.value.trim();
    if (memberId === '' || !input.checkValidity()) {
      tell(problem, { title: t('signin.invalid') });
      input.setAttribute('aria-invalid', 'true');
      input.focus();
      return;
    }
    input.removeAttribute('aria-invalid');
    if (await attempt($('[type=submit]', form), problem, () => session.signIn(memberId))) done();
  });
}

let asking = null;

// signedIn resolves to true when the visitor is signed in, after asking in a
// dialog if need be, and to false when the visitor declines. why tells the visitor the
// purpose of the name.
export function signedIn(why = t('signin.why')) {
  if (session.signedIn) return Promise.resolve(true);
  asking ??= ask(why).finally(() => { asking = null; });
  return asking;
}

function ask(why) {
  const dialog = $('#signin');
  $('#signin-why').textContent = why;
  const form = $('form', dialog);
  return new Promise((resolve) => {
    if (!dialog.dataset.ready) {
      dialog.dataset.ready = 'yes';
      handleForm(form, () => dialog.close('yes'));
      $('[value=cancel]', form).addEventListener('click', () => dialog.close('no'));
    }
    dialog.returnValue = '';
    dialog.addEventListener('close', () => resolve(session.signedIn), { once: true });
    tell($('.problem', form), null);
    dialog.showModal();
    $('input', form).focus();
  });
}

// badge shows the member in the header.
export function badge() {
  const out = $('#member [data-signed=out]');
  const member = $('#member [data-signed=in]');
  const render = () => {
    show(out, !session.signedIn);
    show(member, session.signedIn);
    member.textContent = session.memberId;
    member.setAttribute('aria-label', t('nav.signout', { member: session.memberId }));
    member.title = t('nav.signout', { member: session.memberId });
  };
  if (location.pathname !== '/login') out.href = `/login?next=${encodeURIComponent(location.pathname + location.search)}`;
  member.addEventListener('click', () => {
    sessionStorage.clear();
    session.forget();
    location.assign('/');
  });
  session.changes.addEventListener('change', render);
  render();
}
