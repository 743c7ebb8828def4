// The parts of every page: the member's badge, the theme switch, and the service
// worker that shows a waiting page when the server is not there on a reload.

import { $, announce, show } from './dom.js';
import { t } from './i18n.js';
import { badge } from './session.js';

const themes = ['auto', 'light', 'dark'];

function themeSwitch() {
  const button = $('#theme');
  const root = document.documentElement;
  const label = () => {
    const theme = root.dataset.theme ?? 'auto';
    button.dataset.shows = theme;
    button.setAttribute('aria-label', t(`theme.${theme}`));
    button.title = t(`theme.${theme}`);
  };
  button.addEventListener('click', () => {
    const next = themes[(themes.indexOf(root.dataset.theme ?? 'auto') + 1) % themes.length];
    // The server reads the cookie, so the next page comes in the right colours.
    if (next === 'auto') delete root.dataset.theme;
    else root.dataset.theme = next;
    const age = next === 'auto' ? 0 : 31536000;
    document.cookie = `theme=${next};path=/;max-age=${age};samesite=lax`;
    label();
    announce(t(`theme.${next}`));
    dispatchEvent(new Event('themechange'));
  });
  label();
  show(button);
}

function worker() {
  if (!('serviceWorker' in navigator) || !isSecureContext) return;
  const plain = { createScriptURL: () => '/sw.js' };
  const policy = globalThis.trustedTypes?.createPolicy('boxoffice-worker', plain) ?? plain;
  // Without a worker everything works but the waiting page.
  navigator.serviceWorker.register(policy.createScriptURL('')).catch(() => {});
}

badge();
themeSwitch();
worker();
