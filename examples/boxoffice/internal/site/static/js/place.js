// The place inside: its heartbeats, also from a hidden tab, and the time it lasts.

import { Problem, Unreachable } from './api.js';
import { entry } from './entry.js';

// keepPlace calls left about every second with the milliseconds that remain, and calls
// gone once when the place has ended. It returns a function that stops it.
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
      // Without an answer the place is unchanged.
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
