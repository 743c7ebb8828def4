// A clock that goes on when a test says so, also over reloads.
(() => {
  if (!location.protocol.startsWith('http')) return;
  const key = 'test:now';
  const store = sessionStorage; // a test may take it from the page
  const real = { setTimeout: globalThis.setTimeout.bind(globalThis), clearTimeout: globalThis.clearTimeout.bind(globalThis), now: Date.now };
  const timers = new Map();
  let now = Number(store.getItem(key)) || real.now();
  let last = 0;
  const clock = {
    delays: () => [...timers.values()].map((timer) => Math.ceil(timer.at - now)).sort((a, b) => a - b),
    advance(ms) {
      const end = now + ms;
      for (;;) {
        const [id, timer] = [...timers].sort((a, b) => a[1].at - b[1].at)[0] ?? [];
        if (id === undefined || timer.at > end) break;
        timers.delete(id);
        now = Math.max(now, timer.at);
        timer.run();
      }
      now = end;
      store.setItem(key, now);
      return true;
    },
    freeze() {
      globalThis.setTimeout = (run, ms = 0) => {
        if (!(ms > 0)) return -real.setTimeout(run);
        last += 1;
        timers.set(last, { at: now + ms, run });
        return last;
      };
      globalThis.clearTimeout = (id) => (id < 0 ? real.clearTimeout(-id) : timers.delete(id));
      Date.now = () => now;
      return true;
    },
    thaw() {
      globalThis.setTimeout = real.setTimeout;
      globalThis.clearTimeout = real.clearTimeout;
      Date.now = real.now;
      return true;
    },
  };
  // A request is under way until its answer was read.
  const { fetch } = globalThis;
  let asking = 0;
  clock.idle = () => asking === 0;
  globalThis.fetch = async (...what) => {
    asking += 1;
    try {
      const response = await fetch(...what);
      const text = await response.text();
      return { status: response.status, headers: response.headers, redirected: response.redirected, url: response.url, text: async () => text };
    } finally {
      real.setTimeout(() => { asking -= 1; });
    }
  };
  // Announcements are kept, to be counted.
  clock.said = JSON.parse(store.getItem('test:said') ?? '[]');
  addEventListener('DOMContentLoaded', () => {
    const live = document.getElementById('live');
    if (!live) return;
    new MutationObserver(() => {
      clock.said.push(live.textContent);
      store.setItem('test:said', JSON.stringify(clock.said));
    }).observe(live, { childList: true, characterData: true, subtree: true });
  });
  globalThis.clock = clock;
  clock.freeze();
})();
