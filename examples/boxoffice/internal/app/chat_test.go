package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
)

// The operator and the metrics report messages from the sender to the live streams,
// and a message that cannot be stored.
func TestChatFigures(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir())
	p.ready()
	type figures struct{ Sockets, Rooms, Backlog, Sent, Stored, ToldLive, Dropped, Failed, DeadLettered int }
	shows := func(want figures) {
		t.Helper()
		var report struct{ Chat *figures }
		boxtest.WaitFor(t, "the figures", func() bool {
			report.Chat = nil
			(&fan{p: p, token: p.app.AdminToken()}).call(http.MethodGet, "/api/admin/ops", "", nil, 200, &report)
			if report.Chat == nil {
				return false
			}
			// A failed message may be delivered and fail again before it is a dead letter.
			got := *report.Chat
			if want.Failed > 0 {
				got.Failed, got.DeadLettered = min(got.Failed, want.Failed), min(got.DeadLettered, want.DeadLettered)
			}
			return got == want
		}, func() string { return fmt.Sprintf("%+v, want %+v", report.Chat, want) })
	}
	shows(figures{})
	require.NoError(t, p.app.office.news.chat.Join(t.Context(), "ann", "show-1"))
	_, err := p.app.office.news.chat.Send(t.Context(), "ann", "show-1", "hello")
	require.NoError(t, err)
	shows(figures{Sent: 1, Stored: 1, ToldLive: 1})

	stray, err := events.New(events.ChatMessageSent, "chat", "room-9", "ann", false, events.Sent{
		RoomID: "room-9", SenderID: "ann", Message: "hello?", SentAt: time.Now(),
	})
	require.NoError(t, err)
	made, err := event.Structured{}.Encode(stray)
	require.NoError(t, err)
	require.NoError(t, p.app.office.bus.Publisher().Publish(events.Domain, made))
	shows(figures{Sent: 1, Stored: 1, ToldLive: 2, Failed: 1, DeadLettered: 1})
	metrics := p.text("/metrics")
	for _, line := range []string{
		"chat_sockets 0", "chat_rooms 0", "chat_live_backlog 0", `chat_live_total{result="sent"} 2`, `chat_live_total{result="dropped"} 0`,
		`chat_messages_total{result="accepted"} 1`, `chat_messages_total{result="stored"} 1`,
	} {
		assert.Containsf(t, metrics, "\n"+line+"\n", "%s is missing", line)
	}
	for _, moved := range []string{"failed", "dead_lettered"} {
		if series := `chat_messages_total{result="` + moved + `"} `; !strings.Contains(metrics, series) || strings.Contains(metrics, series+"0\n") {
			t.Errorf("%s has not moved", series)
		}
	}
}
