package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/chat"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/metrics/promtest"
	"github.com/millrace-go/millrace/sse"
)

func TestOnlyWhoJoinedSends(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	if _, err := h.chat.Send(ctx, "ann", "room-1", "hi"); !errors.Is(err, chat.ErrNotJoined) {
		t.Errorf("a room nobody joined: %v", err)
	}
	h.join("bob", "room-1")
	h.join("bob", "room-1")
	if _, err := h.chat.Send(ctx, "ann", "room-1", "hi"); !errors.Is(err, chat.ErrNotJoined) {
		t.Errorf("somebody else joined: %v", err)
	}
	h.say("bob", "room-1", "hi")
	require.NoError(t, h.chat.Leave(ctx, "bob", "room-1"))
	if _, err := h.chat.Send(ctx, "bob", "room-1", "hi"); !errors.Is(err, chat.ErrNotJoined) {
		t.Errorf("after leaving: %v", err)
	}
	for what, err := range map[string]error{
		"join": h.chat.Join(ctx, "ann", "cellar"), "leave": h.chat.Leave(ctx, "ann", "cellar"), "exists": h.chat.Exists(ctx, "cellar"),
	} {
		assert.ErrorIsf(t, err, chat.ErrNoRoom, "%s", what)
	}
	if _, err := h.chat.Send(ctx, "ann", "cellar", "hi"); !errors.Is(err, chat.ErrNoRoom) {
		t.Errorf("send: %v", err)
	}
	if len(h.box.Outbox.Take()) != 0 || len(h.stored("room-1")) != 1 {
		t.Error("what was refused left something")
	}
	assert.Equal(t, "bob joins room-1, bob joins room-1, bob leaves room-1", strings.Join(h.streams.moves, ", "), "the streams were told")
}

func TestRooms(t *testing.T) {
	h := newHouse(t)
	for _, room := range []string{"room-2", "room-1", "room-3"} {
		h.join("ann", room)
	}
	require.NoError(t, h.chat.Leave(t.Context(), "ann", "room-3"))
	if rooms, err := h.chat.Rooms(t.Context(), "ann"); err != nil || !slices.Equal(rooms, []string{"room-1", "room-2"}) {
		t.Errorf("%v, %v", rooms, err)
	}
	for room, want := range map[string]bool{"room-1": true, "room-3": false} {
		if in, err := h.chat.Joined(t.Context(), "ann", room); err != nil || in != want {
			t.Errorf("%s: %v, %v", room, in, err)
		}
	}
}

func TestText(t *testing.T) {
	h := newHouse(t)
	h.join("ann", "room-1")
	long := strings.Repeat("좌", chat.MaxText)
	for _, good := range []string{"x", " two\nlines\t", long, "😀"} {
		_, err := h.chat.Send(t.Context(), "ann", "room-1", good)
		assert.NoError(t, err, "%.20q", good)
	}
	for _, bad := range []string{"", " \n ", long + "석", "a\x00b", "a\x1bb", "a\xffb"} {
		if _, err := h.chat.Send(t.Context(), "ann", "room-1", bad); !errors.Is(err, chat.ErrText) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	assert.Equal(t, 4, len(h.box.Outbox.Take()), "events")
}

// The payload's names are a contract, and the room is the key.
func TestSent(t *testing.T) {
	h := newHouse(t)
	h.join("ann", "room-1")
	e := h.send("ann", "room-1", "hello")
	var fields map[string]any
	require.NoError(t, json.Unmarshal(e.Data, &fields))
	if e.Type != events.ChatMessageSent || e.AggregateType != "chat" || e.Key() != "room-1" || e.ActorID != "ann" ||
		len(fields) != 4 || fields["roomId"] != "room-1" || fields["senderId"] != "ann" || fields["message"] != "hello" {
		t.Errorf("%+v %v", e, fields)
	}
	h.must(events.GroupChatPersist, e, "stored")
	m := h.stored("room-1")[0]
	if m.ID != e.ID || m.SenderID != "ann" || m.Text != "hello" || time.Since(m.SentAt) > time.Hour {
		t.Errorf("%+v", m)
	}
}

func TestPlacesHaveNoGap(t *testing.T) {
	h := newHouse(t)
	h.join("ann", "room-1")
	h.join("ann", "room-2")
	first := h.say("ann", "room-1", "1")
	h.must(events.GroupChatPersist, first, "already stored") // its key was forgotten
	h.say("ann", "room-2", "other")
	broken := errors.New("broken")
	lost := h.send("ann", "room-1", "lost")
	for _, c := range h.chat.Consumers() {
		if c.Group == events.GroupChatPersist {
			require.ErrorIs(t, rolledBack(t, h, c.Handlers[lost.Type], lost, broken), broken)
		}
	}
	h.say("ann", "room-1", "2")
	h.must(events.GroupChatPersist, lost, "stored") // behind those that passed it
	var texts []string
	for _, m := range h.stored("room-1") {
		texts = append(texts, m.Text)
	}
	if !slices.Equal(texts, []string{"1", "2", "lost"}) || len(h.stored("room-2")) != 1 {
		t.Errorf("%v", texts)
	}
}

func TestNoMessage(t *testing.T) {
	h := newHouse(t)
	h.join("ann", "room-1")
	for name, data := range map[string]any{
		"no object": "text", "another room": events.Sent{RoomID: "room-2", SenderID: "ann", Message: "x"},
		"nobody": events.Sent{RoomID: "room-1", Message: "x"}, "no text": events.Sent{RoomID: "room-1", SenderID: "ann"},
		"too long": events.Sent{RoomID: "room-1", SenderID: "ann", Message: strings.Repeat("x", chat.MaxText+1)},
	} {
		e, err := events.New(events.ChatMessageSent, "chat", "room-1", "ann", false, data)
		require.NoError(t, err)
		for _, group := range []string{events.GroupChatPersist, events.GroupChatFanout} {
			if _, err := h.handle(group, e); fault.Of(err) != fault.Permanent {
				t.Errorf("%s, %s: %v", name, group, err)
			}
		}
	}
	e, err := events.New(events.ChatMessageSent, "chat", "room-9", "ann", false, events.Sent{RoomID: "room-9", SenderID: "ann", Message: "x"})
	require.NoError(t, err)
	if _, err := h.handle(events.GroupChatPersist, e); fault.Of(err) != fault.Permanent || !errors.Is(err, chat.ErrNoRoom) {
		t.Errorf("a room that nobody made: %v", err)
	}
	assert.Equal(t, 0, len(h.stored("room-1"))+len(h.streams.of("room-1")), "it was stored or handed on")
}

func TestPages(t *testing.T) {
	h := newHouse(t)
	h.join("ann", "room-1")
	for range 7 {
		h.say("ann", "room-1", "x")
	}
	for _, c := range []struct {
		read  func(context.Context, string, int64, int) ([]chat.Message, error)
		seq   int64
		limit int
		want  []int64
	}{
		{h.chat.After, 0, 3, []int64{1, 2, 3}}, {h.chat.After, 5, 3, []int64{6, 7}}, {h.chat.After, 7, 3, nil},
		{h.chat.Before, 0, 3, []int64{5, 6, 7}}, {h.chat.Before, 3, 5, []int64{1, 2}}, {h.chat.Before, 1, 5, nil},
	} {
		all, err := c.read(t.Context(), "room-1", c.seq, c.limit)
		require.NoError(t, err)
		var got []int64
		for _, m := range all {
			got = append(got, m.Seq)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("from %d: %v, want %v", c.seq, got, c.want)
		}
	}
}

func TestFanOut(t *testing.T) {
	h := newHouse(t)
	h.join("ann", "room-1")
	e := h.send("ann", "room-1", "hello <b>")
	h.must(events.GroupChatFanout, e, "handed on") // stored or not
	boxtest.WaitFor(t, "the event", func() bool { return len(h.streams.of("room-1")) == 1 })
	got := h.streams.events[0]
	var fields map[string]any
	require.NoError(t, json.Unmarshal(got.Data, &fields))
	if got.Name != "chat" || got.ID != e.ID || len(fields) != 3 || fields["roomId"] != "room-1" || fields["senderId"] != "ann" || fields["message"] != "hello <b>" {
		t.Errorf("%+v %s", got, got.Data)
	}
	var sent events.Sent
	if err := e.UnmarshalData(&sent); err != nil || sent.SentAt.IsZero() || !got.At.Equal(sent.SentAt) {
		t.Errorf("it happened at %v, and was sent at %v, %v", got.At, sent.SentAt, err)
	}
}

// Alerts that were queued before the end are still sent.
func TestAlertsAtTheEnd(t *testing.T) {
	h := newHouse(t)
	h.join("ann", "room-1")
	for range 20 {
		h.must(events.GroupChatFanout, h.send("ann", "room-1", "x"), "handed on")
	}
	h.stop()
	assert.Equal(t, 20, len(h.streams.of("room-1")), "of 20")
}

// Streams that accept nothing lose events, and delay nothing.
func TestAlertsAreBounded(t *testing.T) {
	h := openHouse(t, boxtest.New(t), nil, chat.Config{Alerts: 3})
	stuck := &stuck{hold: make(chan struct{}), in: make(chan struct{})}
	h.chat.SetSender(stuck)
	h.join("ann", "room-1")
	h.must(events.GroupChatFanout, h.send("ann", "room-1", "x"), "handed on")
	<-stuck.in // one is on its way
	for range 5 {
		h.must(events.GroupChatFanout, h.send("ann", "room-1", "x"), "handed on")
	}
	want := map[string]float64{"chat_messages_total accepted": 6, "chat_live_backlog": 3, "chat_live_total dropped": 2}
	if got := promtest.Read(t, h.chat.Collector()); !maps.Equal(got, series(want)) {
		t.Errorf("while the streams take nothing: %v, want %v", got, want)
	}
	close(stuck.hold)
	delete(want, "chat_live_backlog")
	want["chat_live_total sent"] = 4
	h.shows("the others to be taken", want)
}

type stuck struct {
	streams
	hold, in chan struct{}
}

func (s *stuck) ToRoom(ctx context.Context, room string, e sse.Event) error {
	select {
	case s.in <- struct{}{}:
	case <-s.hold:
	}
	<-s.hold
	return s.streams.ToRoom(ctx, room, e)
}

func TestConfig(t *testing.T) {
	b := boxtest.New(t)
	if _, err := chat.New(b.Store, halls{}, b.Outbox, mute{}, chat.Config{Ping: -1}); err == nil {
		t.Error("a negative duration was taken")
	}
	if _, err := chat.New(b.Store, halls{}, b.Outbox, nil, chat.Config{}); err == nil {
		t.Error("no broker was taken")
	}
	h := newHouse(t)
	h.stop()
	assert.Error(t, h.chat.Run(t.Context()), "it ran twice")
}
