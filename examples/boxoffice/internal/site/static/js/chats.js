// How many messages this tab has heard of and not shown, by room.

import { session } from './session.js';

const KEY = 'boxoffice.chats';

// chats tells "change". Its open room is the one on the screen, which has no
// unread messages.
export const chats = new EventTarget();
chats.open = '';

function load() {
  try {
    const { member, rooms } = JSON.parse(sessionStorage.getItem(KEY) ?? '{}');
    return member === session.memberId ? rooms : {};
  } catch {
    return {};
  }
}

function save(rooms) {
  sessionStorage.setItem(KEY, JSON.stringify({ member: session.memberId, rooms }));
  chats.dispatchEvent(new Event('change'));
}

chats.unread = (room) => load()[room] ?? 0;

// add counts a message, and returns how many there are now; 0 when it is seen, or
// one's own.
chats.add = ({ roomId, senderId }) => {
  if (senderId === session.memberId || (roomId === chats.open && !document.hidden)) return 0;
  const rooms = load();
  rooms[roomId] = (rooms[roomId] ?? 0) + 1;
  save(rooms);
  return rooms[roomId];
};

chats.clear = (room) => {
  const { [room]: cleared, ...rooms } = load();
  if (cleared !== undefined) save(rooms);
};
