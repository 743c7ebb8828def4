// Reaching a visitor that is busy elsewhere: the screen stays on, the icon
// of the tab tells the place, and a notification the turn. A browser may lack any of it.

let lock = null;

// wake asks for the screen to stay on: a phone that sleeps stops the page. The lock
// ends whenever the tab is hidden.
async function wake() {
  if (lock || document.hidden) return;
  lock = {};
  try {
    lock = await navigator.wakeLock.request('screen');
    lock.onrelease = () => { lock = null; };
  } catch {
    // The browser has none, or saves power.
    lock = null;
  }
}

const icon = document.querySelector('[rel=icon]');
const mark = icon.href;

// drawIcon writes a few characters on the icon of the tab.
function drawIcon() {
  const text = state.view === 'turn' ? '!' : !inLine() ? '' : state.position < 1000 ? state.position : state.position < 1e5 ? `${Math.round(state.position / 1000)}k` : '···';
  const { color, backgroundColor } = getComputedStyle($('enter-now'));
  const href = text === '' ? mark : `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="${backgroundColor}"/><text x="16" y="23" fill="${color}" font-family="sans-serif" font-size="${text.length > 1 || text > 9 ? 17 : 22}" text-anchor="middle">${text}</text></svg>`)}`;
  if (icon.href !== href) icon.href = href;
}

const notes = () => globalThis.Notification?.permission;

// notify tells the turn to a visitor that does not look at the page.
function notify() {
  if (!document.hidden || notes() !== 'granted') return;
  try {
    const note = new Notification(t(`${state.view}.title`), { body: t(textKey()), tag: drawerKey });
    note.onclick = () => {
      focus();
      note.close();
    };
  } catch {
    // Some browsers let a page show none by itself.
  }
}

$('notify').addEventListener('click', async () => {
  try {
    await Notification.requestPermission();
  } catch {
    // As after a no.
  }
  render();
});
document.addEventListener('visibilitychange', render);
