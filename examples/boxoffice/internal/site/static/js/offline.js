// The waiting page, shown under the address that was wanted.

import './site.js';
import { answers } from './connection.js';
import { $, setText } from './dom.js';
import { t } from './i18n.js';

const state = $('#offline-state');
const button = $('#offline-retry');
let timer = 0;

async function look() {
  clearTimeout(timer);
  button.disabled = true;
  if (await answers()) {
    setText(state, t('offline.back'));
    location.reload();
    return;
  }
  button.disabled = false;
  timer = setTimeout(look, 1500);
}

if (location.pathname === '/offline') $('#offline').dataset.direct = 'yes';
else look();
button.addEventListener('click', () => (location.pathname === '/offline' ? location.assign('/') : look()));
