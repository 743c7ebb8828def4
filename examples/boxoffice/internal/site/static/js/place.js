// The place in the house: signs of life for it, also from a tab that nobody sees,
// and how long it lasts.

import { Problem, Unreachable } from './api.js';
import { entry } from './entry.js';

// keepPlace tells by left, about every second, how many ms there are, and calls
// gone once when the place has ended. It returns what stops it.
export function keepPlace(event, { left, gone }) {
  let ends = 0; // 0 while it is not known
  let beating = 0;
  let ticking = 0;
  let over = false;

  function stop() {
    over = true;
    clearTimeout(beating);
    clearInterval(ticking);
  }

  async function beat() {
    clearTimeout(beating);
    let delay = 5000;
    try {
      const place = await entry.heartbeat(event);
      if (over) return;
      if (place.status !== 'active') {
        stop();
        gone();
        return;
      }
      if (place.expiresIn > 0) ends = Date.now() + 1000 * place.expiresIn;
      delay = 1000 * Math.max(1, place.nextPoll || 3);
    } catch (error) {
      // Who can't be asked says nothing about the place.
      if (!(error instanceof Problem) && !(error instanceof Unreachable)) throw error;
      if (error instanceof Problem) delay = 1000 * Math.max(5, error.retryAfter);
    }
    if (!over) beating = setTimeout(beat, delay);
  }

  ticking = setInterval(() => {
    if (ends === 0) return;
    left(Math.max(0, ends - Date.now()));
    // The room decides when it is over; it is asked as soon as it should be.
    if (Date.now() >= ends) {
      ends = 0;
      beat();
    }
  }, 1000);
  beat();
  return stop;
}
