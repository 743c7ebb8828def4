// Asking again and again, politely: never two at a time, not while the tab is
// hidden, at once when it is shown again or when the box office is back.

import { Problem, Unreachable } from './api.js';
import { connection, whenUp } from './connection.js';

// poll calls task, waits for the ms that it returns (or every), and so on.
// Returning false ends it. Of a task's errors, poll waits out the server's
// silence, and asks again more slowly after a problem that the task let pass.
export function poll(task, every) {
  let timer = 0;
  let running = false;
  let again = false;
  let stopped = false;

  async function run() {
    clearTimeout(timer);
    if (stopped) return;
    if (running) {
      again = true;
      return;
    }
    running = true;
    again = false;
    let delay = every;
    try {
      const answer = await task();
      if (answer === false) stopped = true;
      else if (typeof answer === 'number') delay = answer;
    } catch (error) {
      if (error instanceof Unreachable) {
        await whenUp();
        again = true;
      } else if (error instanceof Problem) {
        delay = Math.max(3 * every, 5000);
      } else {
        throw error;
      }
    } finally {
      running = false;
    }
    if (stopped) return;
    if (again) run();
    else if (!document.hidden) timer = setTimeout(run, delay);
  }

  document.addEventListener('visibilitychange', () => {
    if (document.hidden) clearTimeout(timer);
    else run();
  });
  connection.addEventListener('recovered', run);
  run();
  return {
    now: run,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
