// The member's notifications that this page has read.

import { get, post, put } from './api.js';
import { session } from './session.js';

const PAGE = 20;
const NAME = 'boxoffice.inbox';

// inbox tells "change" for each change of its contents, and "news" for each
// notification that is new since the page was opened, from the stream or from a read.
export const inbox = new EventTarget();
Object.assign(inbox, { items: [], unread: 0, muted: false, more: false });

// Tells the member's other tabs of each read mark.
const tabs = new BroadcastChannel(NAME);
tabs.onmessage = ({ data }) => { if (data === session.memberId) inbox.refresh().catch(() => {}); };

const changed = () => inbox.dispatchEvent(new Event('change'));
const news = (detail) => inbox.dispatchEvent(new CustomEvent('news', { detail }));

function told() {
  changed();
  tabs.postMessage(session.memberId);
}

const read = (query) => get(`/api/notifications?${new URLSearchParams({ limit: PAGE, ...query })}`, { repeat: false });

// at is the time of a notification; their texts cannot be compared, as .8Z and .81Z show.
const at = (one) => (one ? Date.parse(one.createdAt) : -Infinity);

let asked = 0; // answers to older questions are dropped
let touched = 0; // and so are those that know nothing of what happened since they were asked
let looked = false; // what the first look finds is no news

// refresh reads the newest and keeps the older ones that were loaded.
inbox.refresh = async () => {
  asked += 1;
  const mine = asked;
  let answer;
  let before;
  for (let tries = 0; tries < 3 && before !== touched; tries += 1) {
    before = touched;
    answer = await read({});
    if (mine !== asked) return;
  }
  const { notifications, unreadCount, muted } = answer;
  const fresh = new Set(notifications.map(({ id }) => id));
  const known = new Set(inbox.items.map(({ id }) => id));
  const newest = at(inbox.items[0]);
  const come = looked ? notifications.filter((one) => !one.readAt && !known.has(one.id) && at(one) > newest) : [];
  looked = true;
  const oldest = at(notifications.at(-1));
  const whole = notifications.length < PAGE;
  const older = whole ? [] : inbox.items.filter((one) => !fresh.has(one.id) && at(one) <= oldest);
  inbox.more = whole ? false : older.length === 0 || inbox.more;
  inbox.items = [...notifications, ...older];
  inbox.unread = unreadCount;
  inbox.muted = muted;
  changed();
  if (!muted) come.reverse().forEach(news);
};

inbox.older = async () => {
  const last = inbox.items.at(-1);
  if (!last) return;
  const { notifications } = await read({ before: last.id });
  const known = new Set(inbox.items.map(({ id }) => id));
  inbox.items = [...inbox.items, ...notifications.filter(({ id }) => !known.has(id))];
  inbox.more = notifications.length === PAGE;
  changed();
};

// add takes a notification from the stream.
inbox.add = (notification) => {
  if (inbox.items.some(({ id }) => id === notification.id)) return;
  inbox.items = [{ readAt: null, createdAt: new Date().toISOString(), ...notification }, ...inbox.items];
  inbox.unread += 1;
  touched += 1;
  changed();
  news(notification);
};

// read marks one as read. It is shown so at once, and not if that was refused.
// The request outlives the page, since reading often leads to another.
inbox.read = async (id) => {
  const item = inbox.items.find((one) => one.id === id);
  if (!item || item.readAt) return;
  item.readAt = new Date().toISOString();
  inbox.unread = Math.max(0, inbox.unread - 1);
  changed();
  try {
    await post(`/api/notifications/${encodeURIComponent(id)}/read`, {}, { keepalive: true });
    touched += 1;
    told();
  } catch (error) {
    item.readAt = null;
    inbox.unread += 1;
    changed();
    throw error;
  }
};

// readAll marks all up to the newest on the page, also older ones that are not on it.
// Later ones stay unread.
inbox.readAll = async () => {
  const [newest] = inbox.items;
  if (!newest) return;
  try {
    await post('/api/notifications/read', { upTo: newest.id });
    touched += 1;
    const readAt = new Date().toISOString();
    let seen = false;
    for (const item of inbox.items) {
      seen ||= item.id === newest.id;
      if (seen) item.readAt ??= readAt;
    }
  } finally {
    await inbox.refresh();
    told();
  }
};

inbox.mute = async (muted) => {
  await put('/api/notifications/settings', { muted }, { repeat: true });
  touched += 1;
  inbox.muted = muted;
  told();
};

inbox.forget = () => {
  asked += 1;
  looked = false;
  Object.assign(inbox, { items: [], unread: 0, muted: false, more: false });
  changed();
};
