package chat_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/chat"
	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/ssetest"
)

// replay returns the ids that a member's stream is sent.
func (h *house) replay(member, cursor string) []string {
	h.Helper()
	all, err := h.chat.Replay(h.Context(), member, sse.Cursors{"chat": cursor, "notification": "n"})
	if err != nil {
		h.Fatal(err)
	}
	ids := []string{}
	for _, e := range all.Events {
		ids = append(ids, e.ID)
	}
	return ids
}

// at sets when a message was sent, in seconds from now.
func (h *house) at(id string, seconds int) {
	h.Helper()
	h.box.Exec(h.T, `UPDATE chat_messages SET sent_at = $1 WHERE message_id = $2`, time.Now().Add(time.Duration(seconds)*time.Second).UnixMilli(), id)
}

func TestReplay(t *testing.T) {
	h := newHouse(t)
	h.join("ann", "room-1")
	h.join("ann", "room-2")
	h.join("bob", "room-3")
	ids := map[string]string{}
	for i, m := range []struct{ room, sender string }{
		{"room-1", "ann"}, {"room-2", "ann"}, {"room-1", "ann"}, {"room-3", "bob"}, {"room-1", "ann"}, {"room-2", "ann"},
	} {
		name := string(rune('a' + i))
		ids[name] = h.say(m.sender, m.room, name).ID
		h.at(ids[name], 60+10*i)
	}
	of := func(names string) []string {
		all := []string{}
		for _, name := range names {
			all = append(all, ids[string(name)])
		}
		return all
	}
	for cursor, want := range map[string]string{
		ids["a"]: "bcef", ids["c"]: "ef", ids["b"]: "cef", ids["e"]: "f", ids["f"]: "", "": "", "nonsense": "",
	} {
		if got := h.replay("ann", cursor); !slices.Equal(got, of(want)) {
			t.Errorf("after %s: %d, want %s", cursor, len(got), want)
		}
	}
	// A message sent in another room just before the cursor may not have been announced
	// by then, so it is replayed, perhaps again.
	h.at(ids["b"], 78)
	if got := h.replay("ann", ids["c"]); !slices.Equal(got, of("bef")) {
		t.Errorf("two seconds before: %v", got)
	}
	// For a cursor that is not stored its time is used.
	unknown, err := uuid.NewV7()
	require.NoError(t, err)
	if got := h.replay("ann", unknown.String()); len(got) != 5 {
		t.Errorf("after an id of now: %d of 5", len(got))
	}
	// A member that joined since has missed the events since then, and no more.
	h.join("cyd", "room-1")
	h.at(ids["a"], -60)
	h.at(ids["c"], -50)
	if got := h.replay("cyd", ids["d"]); !slices.Equal(got, of("e")) {
		t.Errorf("who joined late: %v", got)
	}
}

// Within a room the order is that of the places, for any clocks.
func TestReplayKeepsTheOrder(t *testing.T) {
	h := newHouse(t)
	h.join("ann", "room-1")
	first := h.say("ann", "room-1", "first")
	h.at(first.ID, 60)
	var want []string
	for i := range 150 {
		e := h.say("ann", "room-1", "x")
		h.at(e.ID, 100-(i%7))
		want = append(want, e.ID)
	}
	if got := h.replay("ann", first.ID); !slices.Equal(got, want[50:]) {
		t.Errorf("%d events, or out of order", len(got))
	}
}

func TestReplayer(t *testing.T) {
	ssetest.RunReplayer(t, func(t *testing.T) ssetest.ReplayerHarness {
		h := newHouse(t)
		h.join("ann", "room-1")
		replay := sse.Replayer(func(ctx context.Context, since sse.Cursors) (sse.Missed, error) {
			return h.chat.Replay(ctx, "ann", since)
		})
		store := func(context.Context) (string, error) { return h.say("ann", "room-1", "x").ID, nil }
		return ssetest.ReplayerHarness{Replayer: replay, Event: chat.EventName, Store: store, Bound: 100}
	})
}

// Events left out of several rooms are counted once each, and up to a bound in a room.
func TestReplayCountsWhatItLeavesOut(t *testing.T) {
	h := newHouse(t)
	for _, room := range []string{"room-1", "room-2"} {
		h.join("ann", room)
	}
	first := h.say("ann", "room-1", "first")
	h.at(first.ID, -60)
	for range 110 {
		h.say("ann", "room-1", "x")
	}
	old := h.say("ann", "room-2", "before the cursor")
	h.at(old.ID, -600)
	for range 120 {
		h.say("ann", "room-2", "x")
	}
	missed, err := h.chat.Replay(t.Context(), "ann", sse.Cursors{"chat": first.ID})
	require.NoError(t, err)
	if len(missed.Events) != 100 || missed.Left["chat"] != 130 {
		t.Errorf("%d events, and %v are left out; want 100 and 130", len(missed.Events), missed.Left)
	}
}
