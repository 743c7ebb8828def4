// The bell in the header: the number of unread notifications, the panel that lists
// them, and those that arrive while the page is open.

import { chats } from './chats.js';
import { $, announce, setText, show } from './dom.js';
import { t, tn } from './i18n.js';
import { inbox } from './inbox.js';
import { InboxPanel } from './inboxpanel.js';
import { live } from './live.js';
import { about, textOf } from './notices.js';
import { poll } from './poll.js';
import { session } from './session.js';
import { titleOf } from './shows.js';
import { toast, untoast } from './toast.js';

const SELDOM = 300000; // ms between two looks while the stream tells what is new
const OFTEN = 15000; // and while it does not

const bell = $('#bell');
const panel = new InboxPanel();

let polling = null;

// look reads the inbox before the stream is opened, so that notifications that the
// stream repeats are not shown as news.
async function look() {
  try {
    await inbox.refresh();
  } catch (error) {
    if (error.status === 401) return false;
    if (error.status !== 404) throw error;
    show(bell, false); // an office without an inbox
    return false;
  }
  live.open();
  return live.state === 'live' && !inbox.muted ? SELDOM : OFTEN;
}

function start() {
  polling?.stop();
  inbox.forget();
  show(bell, session.signedIn); // at once: nothing in the header moves later
  if (session.signedIn) polling = poll(look, OFTEN);
  else panel.close();
}

function count() {
  const { unread } = inbox;
  const n = unread > 99 ? '99+' : String(unread);
  setText($('#bell-count'), n);
  show($('#bell-count'), unread > 0);
  const label = unread === 0 ? t('inbox.title') : t('inbox.unread', { n });
  bell.setAttribute('aria-label', label);
  bell.title = label;
}

inbox.addEventListener('change', () => {
  count();
  panel.render();
});

live.addEventListener('notification', ({ detail }) => inbox.add(detail));

inbox.addEventListener('news', ({ detail }) => {
  const { title, href } = about(detail);
  const text = textOf(detail);
  if (panel.open) announce(`${title}: ${text}`);
  else toast({ key: detail.id, title, text, href, action: href ? null : { label: t('toast.show'), run: () => panel.show() } });
});

live.addEventListener('chat', async ({ detail }) => {
  const n = chats.add(detail);
  if (n === 0 || inbox.muted) return;
  const title = await titleOf(detail.roomId);
  const text = n === 1 ? `${detail.senderId}: ${detail.message}` : tn('chat.unread', n);
  toast({ key: `chat ${detail.roomId}`, title, text, href: `/shows/${encodeURIComponent(detail.roomId)}#chat` });
});
chats.addEventListener('change', () => { if (chats.open) untoast(`chat ${chats.open}`); });

live.addEventListener('gap', () => polling?.now());

live.addEventListener('state', () => {
  bell.dataset.live = live.state;
  panel.render();
  if (live.state === 'evicted' && !panel.open) {
    toast({ key: 'evicted', stays: true, title: t('live.evicted'), text: t('live.evicted.text'), action: { label: t('live.here'), run: live.here } });
  } else if (live.state !== 'evicted') {
    untoast('evicted');
  }
  if (live.state === 'live' || live.state === 'fallback') polling?.now();
});

session.changes.addEventListener('change', start);
start();
