// One show: its live numbers, and the buttons to like, follow and comment.

import './site.js';
import { Problem, Unreachable, get, post } from './api.js';
import { Chat } from './chat.js';
import { Comments } from './comments.js';
import { $, $$, setText } from './dom.js';
import { follows } from './follows.js';
import { number, t } from './i18n.js';
import { Like } from './like.js';
import { Opening } from './opening.js';
import { poll } from './poll.js';
import { session } from './session.js';
import { Vote } from './vote.js';

const EVERY = 4000; // ms between two looks at the numbers
const SOON = 500; // and after something was done that is counted
const RARELY = 20000; // between two looks at the vote

const id = document.body.dataset.event;
const path = `/api/shows/${encodeURIComponent(id)}`;

let soon = 0; // looks that come soon
let said = null; // how many comments there were

const polling = poll(async () => {
  render(await get(path));
  if (soon === 0) return EVERY;
  soon -= 1;
  return SOON;
}, EVERY);

function counted() {
  soon = 3; // what is counted arrives a moment later
  polling.now();
}

const like = new Like(id, counted);
const comments = new Comments(id, counted);
const vote = new Vote(id);
new Chat(id); // works by itself

function render({ seats, ...show }) {
  for (const element of $$('[data-count]')) setText(element, number(seats[element.dataset.count]));
  for (const element of $$('[data-tally]')) tally(element, show[element.dataset.tally]);
  if (said !== null && said !== show.commentCount) quietly(() => comments.load());
  said = show.commentCount;
  const box = $('#availability .availability');
  if (!box) return;
  const percent = Math.ceil((100 * seats.available) / seats.total);
  $('.left', box).setAttribute('width', percent);
  const few = seats.available > 0 && percent < 15;
  box.classList.toggle('none', seats.available === 0);
  box.classList.toggle('few', few);
  setText($('span', box), seats.available === 0 ? t('shows.soldout') : few ? t('shows.few', { n: seats.available })
    : t('shows.left', { n: seats.available, total: seats.total }));
}

// tally lights a number up when it has become another one.
function tally(element, n) {
  const text = number(n);
  if (element.textContent === text) return;
  const moved = element.textContent !== '–';
  setText(element, text);
  if (!moved) return;
  element.classList.remove('moved');
  requestAnimationFrame(() => element.classList.add('moved'));
}

// quietly ignores an error: the page works without the answer.
async function quietly(task) {
  try {
    await task();
  } catch (error) {
    if (!(error instanceof Problem) && !(error instanceof Unreachable)) throw error;
  }
}

function mine() {
  quietly(() => like.load());
  quietly(() => follows.load());
}

session.changes.addEventListener('change', () => {
  mine();
  quietly(() => vote.again());
});
mine();
quietly(() => comments.load());
quietly(() => new Opening(id).load());
poll(() => vote.load(), RARELY);
quietly(() => post(`${path}/view`, {}));
