package chat_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/chat"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/metrics/promtest"
	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/driver"
)

// series are all metrics, at 0 except those given.
func series(but map[string]float64) map[string]float64 {
	all := map[string]float64{
		"chat_sockets": 0, "chat_rooms": 0, "chat_live_backlog": 0,
		"chat_messages_total accepted": 0, "chat_messages_total stored": 0, "chat_messages_total failed": 0, "chat_messages_total dead_lettered": 0,
		"chat_live_total sent": 0, "chat_live_total failed": 0, "chat_live_total dropped": 0,
		"chat_slow_sockets_total": 0, "chat_lost_bells_total": 0,
	}
	maps.Copy(all, but)
	return all
}

// shows waits until the metrics are at 0 except those given.
func (h *house) shows(when string, but map[string]float64) {
	h.Helper()
	var got map[string]float64
	boxtest.WaitFor(h, when, func() bool {
		got = promtest.Read(h, h.chat.Collector())
		return maps.Equal(got, series(but))
	}, func() string { return fmt.Sprint(got) })
}

// Every series is there from the start, and moves when messages go from senders to
// readers.
func TestCollector(t *testing.T) {
	p := newPipeline(t, "", false)
	h := p.house
	h.shows("nothing to have happened", nil)
	h.join("ann", "room-1")
	conn := h.dial("room-1", "ann", -1)
	h.dial("room-1", "bob", -1)
	for _, text := range []string{"1", "2", "3"} {
		_, err := h.chat.Send(t.Context(), "ann", "room-1", text)
		require.NoError(t, err)
	}
	want := map[string]float64{
		"chat_sockets": 2, "chat_rooms": 1,
		"chat_messages_total accepted": 3, "chat_messages_total stored": 3, "chat_live_total sent": 3,
	}
	h.shows("three messages", want)

	// A message of a room without any members: it is announced, and cannot be stored.
	stray, err := events.New(events.ChatMessageSent, "chat", "room-9", "ann", false, events.Sent{
		RoomID: "room-9", SenderID: "ann", Message: "hello?", SentAt: time.Now(),
	})
	require.NoError(t, err)
	require.NoError(t, h.box.Store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error { return p.ledger.Append(ctx, tx, stray) }))
	require.NoError(t, conn.Close(websocket.StatusNormalClosure, ""))
	maps.Copy(want, map[string]float64{
		"chat_sockets": 1, "chat_messages_total failed": 1, "chat_messages_total dead_lettered": 1, "chat_live_total sent": 4,
	})
	h.shows("a message that cannot be stored, and a socket less", want)
}

// Refusals by the broker and the live streams are counted.
func TestCollectorOfRefusals(t *testing.T) {
	h := openHouse(t, boxtest.New(t), deaf{}, forever(chat.Config{}))
	h.chat.SetSender(refusing{})
	h.join("ann", "room-1")
	h.must(events.GroupChatFanout, h.send("ann", "room-1", "x"), "handed on")
	h.shows("what was refused", map[string]float64{
		"chat_messages_total accepted": 1, "chat_live_total failed": 2, "chat_lost_bells_total": 1, // the join, the event, the bell
	})
}

// deaf is a broker that refuses everything.
type deaf struct{ mute }

func (deaf) Publish(context.Context, driver.Message) error { return errRefused }

// refusing are live streams that refuse everything.
type refusing struct{}

var errRefused = errors.New("refused")

func (refusing) ToRoom(context.Context, string, sse.Event) error { return errRefused }
func (refusing) Join(context.Context, string, string) error      { return errRefused }
func (refusing) Leave(context.Context, string, string) error     { return errRefused }
