package app

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/chat"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/inbox"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/live"
	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/memsse"
)

// echo sends the notices that it reads live as well, before the stream has them.
type echo struct {
	live.Replayer
	hub  func() *sse.Hub
	sent *[]sse.Event
}

func (e echo) Replay(ctx context.Context, member string, since sse.Cursors) (sse.Missed, error) {
	all, err := e.Replayer.Replay(ctx, member, since)
	for _, event := range all.Events {
		if event.Name == inbox.EventName && err == nil {
			*e.sent = append(*e.sent, event)
			err = e.hub().ToMember(ctx, member, event)
		}
	}
	return all, err
}

// A stream reconnects to a hundred messages of its rooms and to ten notices, which are
// also sent live meanwhile and once more right after. It has each once.
func TestReplayedAndLive(t *testing.T) {
	t.Parallel()
	box := boxtest.New(t)
	quiet := slog.New(slog.DiscardHandler)
	_, broker := memsse.New()
	n := &news{}
	var err error
	if n.chat, err = chat.New(box.Store, box.Catalog, box.Outbox, broker, chat.Config{Logger: quiet}); err != nil {
		t.Fatal(err)
	}
	if n.inbox, err = inbox.New(box.Store, inbox.Config{Holder: "test", Logger: quiet}); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, n.chat.Join(t.Context(), "ann", "show-1"))
	const said, told = 100, 10
	now := time.Now().Add(time.Minute).UnixMilli()
	rows := func(n int, row func(i int) string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = row(i)
		}
		return strings.Join(all, ", ")
	}
	box.Exec(t, `INSERT INTO chat_messages (room_id, seq, message_id, sender_id, message, sent_at) VALUES `+
		rows(said+1, func(i int) string { return fmt.Sprintf("('show-1', %d, 'm-%d', 'bob', 'x', %d)", i+1, i, now+int64(i)) }))
	box.Exec(t, `INSERT INTO notifications (notification_id, member_id, type, message, ref_id, created_at, position) VALUES `+
		rows(told, func(i int) string { return fmt.Sprintf("('n-%d', 'ann', 'follow', 'x', 'bob', %d, %d)", i, now, i+1) }))
	box.Exec(t, `UPDATE notification_positions SET position = $1`, told)

	shared, err := live.Memory()
	require.NoError(t, err)
	cfg := live.Config{Logger: quiet, Streams: sse.Config{Lease: 2 * time.Minute, Timeout: 30 * time.Second}} // a loaded machine is no outage
	var sent []sse.Event
	for _, r := range n.replayers() {
		cfg.Replayers = append(cfg.Replayers, echo{r, func() *sse.Hub { return n.live.Hub() }, &sent})
	}
	if n.live, err = live.New(strings.Repeat("s", 32), shared, cfg); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.live.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		assert.NoError(t, <-ended)
	})
	require.NoError(t, n.live.Hub().Ready(t.Context()))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = n.live.Serve(w, r, live.Tab{Member: "ann"}) // it has answered
	}))
	t.Cleanup(server.Close)
	t.Cleanup(stop)
	request, leave := context.WithTimeout(t.Context(), time.Minute)
	defer leave()
	r, err := http.NewRequestWithContext(request, http.MethodGet, server.URL, nil)
	require.NoError(t, err)
	r.Header.Set("Last-Event-ID", ";chat=m-0")
	answer, err := server.Client().Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()

	got, last := map[string]int{}, ""
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() && last != "end" {
		name, ok := strings.CutPrefix(lines.Text(), "event: ")
		if !ok {
			continue
		}
		if last = name; len(got) == 0 {
			for _, e := range append(sent, sse.Event{Name: "end"}) {
				require.NoError(t, n.live.Hub().ToMember(t.Context(), "ann", e))
			}
		}
		got[name]++
	}
	if got[chat.EventName] != said || got[inbox.EventName] != told || got["end"] != 1 {
		t.Errorf("the stream had %v (%v), want %d of the rooms and %d notices", got, lines.Err(), said, told)
	}
	assert.EqualValues(t, 2*told, n.live.Hub().Stats().Duplicates, "events came twice")
}
