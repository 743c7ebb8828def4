package site_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// inboxScript reads a page, the one before it, and the first again: .8 s is earlier than .81 s,
// though its text is not. The text of a time has no zeros at its end.
const inboxScript = `
globalThis.BroadcastChannel = class { postMessage() {} };
const { inbox } = await import('./inbox.js');
const { next } = await import('./api.js');
const at = (id, part) => ({ id, readAt: null, createdAt: '2026-03-01T19:00:05.' + part + 'Z' });
const first = Array.from({ length: 20 }, (_, i) => at('n' + i, '81'));
const read = async (notifications, look) => {
  next.got = { notifications, unreadCount: 0, muted: false };
  await look();
};
await read(first, inbox.refresh);
await read([at('earlier', '8')], inbox.older);
await read(first, inbox.refresh);
inbox.addEventListener('news', ({ detail }) => console.log('news:', detail.id));
await read([at('later', '9'), ...first.slice(0, 19)], inbox.refresh);
await read([at('last', '91'), at('later', '9'), ...first.slice(0, 18)], inbox.refresh);
console.log(inbox.items.length);
`

func TestInboxKeepsTheOrderOfTimes(t *testing.T) {
	require.Equal(t, "news: later\nnews: last\n23\n", runScript(t, inboxScript))
}
