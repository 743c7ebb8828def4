// The people that the member follows.

import { get, post, remove } from './api.js';
import { session } from './session.js';

// follows tells "change".
export const follows = new EventTarget();

let members = new Set();
let changes = 0; // how often one was set

follows.has = (member) => members.has(member);

follows.load = async () => {
  const mine = session.memberId;
  let before;
  let list;
  do { // an answer from before a change is out of date
    before = changes;
    list = mine === '' ? [] : (await get('/api/me/follows')).members;
    if (mine !== session.memberId) return;
  } while (before !== changes);
  members = new Set(list);
  follows.dispatchEvent(new Event('change'));
};

follows.set = async (member, wanted) => {
  const path = `/api/members/${encodeURIComponent(member)}/follow`;
  // Either may arrive twice.
  if (wanted) await post(path, {}, { repeat: true });
  else await remove(path, { repeat: true });
  changes += 1;
  if (wanted) members.add(member);
  else members.delete(member);
  follows.dispatchEvent(new Event('change'));
};
