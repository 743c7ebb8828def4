// Whether the box office answers. After a request without an answer a banner is
// shown, and /healthz is asked until it answers. Then whenUp() resolves for all
// callers, and pages refresh on the "recovered" event.

import { $, announce, setText, show } from './dom.js';
import { t } from './i18n.js';

export const connection = new EventTarget();

const delays = [1, 1, 2, 2, 3, 5];

let down = null; // { attempt, left, timer, waiting: [resolve] } while there is no answer

export const isDown = () => down !== null;

export function whenUp() {
  if (down === null) return Promise.resolve();
  return new Promise((resolve) => down.waiting.push(resolve));
}

export function lost() {
  if (down !== null) return;
  down = { attempt: 0, left: 0, timer: 0, waiting: [] };
  const banner = $('#banner');
  banner.classList.remove('restored');
  setText($('#banner-text'), t('offline.title'));
  show($('#banner-retry'));
  show(banner);
  announce(`${t('offline.title')} ${t('offline.safe')}`);
  schedule();
}

function schedule() {
  down.left = delays[Math.min(down.attempt++, delays.length - 1)];
  tick();
}

function tick() {
  if (down.left <= 0) {
    probe();
    return;
  }
  setText($('#banner-detail'), `${t('offline.safe')} ${t('offline.countdown', { n: down.left })}`);
  down.left -= 1;
  down.timer = setTimeout(tick, 1000);
}

async function probe() {
  clearTimeout(down.timer);
  setText($('#banner-detail'), `${t('offline.safe')} ${t('offline.trying')}`);
  const up = await answers();
  if (down === null) return;
  if (up) restored();
  else schedule();
}

// answers asks the server whether it is there.
export async function answers() {
  try {
    const response = await fetch('/healthz', { cache: 'no-store', signal: AbortSignal.timeout(4000) });
    return response.ok;
  } catch {
    return false;
  }
}

function restored() {
  const { waiting } = down;
  down = null;
  const banner = $('#banner');
  banner.classList.add('restored');
  setText($('#banner-text'), t('offline.back'));
  setText($('#banner-detail'), '');
  show($('#banner-retry'), false);
  setTimeout(() => { if (down === null) show(banner, false); }, 2500);
  announce(t('offline.back'));
  for (const resolve of waiting) resolve();
  connection.dispatchEvent(new Event('recovered'));
}

$('#banner-retry')?.addEventListener('click', () => {
  if (down !== null && down.left >= 0) {
    clearTimeout(down.timer);
    probe();
  }
});
