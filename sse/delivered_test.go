package sse_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/sse"
)

// lateness records the delays of a hub's events.
type lateness struct {
	mu    sync.Mutex
	names []string
	after []time.Duration
}

func (l *lateness) delivered(name string, after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names, l.after = append(l.names, name), append(l.after, after)
}

func (l *lateness) all() ([]string, []time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.names), slices.Clone(l.after)
}

// Delivered is called for each event with a time and each stream that it is written
// to, with its delay, in the process that has the stream; and for nothing else.
func TestHowLateEventsAreIsTold(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		c, b := newCap(t), newBroker(t)
		var told lateness
		from := start(t, c, b, sse.Config{Lean: lean})
		at := start(t, c, b, sse.Config{Lean: lean, Delivered: told.delivered})
		replay := sse.Event{Name: "notification", ID: "1", Data: []byte("replayed"), At: time.Now()}
		at.replay = sse.Replayer(func(context.Context, sse.Cursors) (sse.Missed, error) {
			return sse.Missed{Events: []sse.Event{replay}}, nil
		})
		tabs := []*client{dial(t, at.url+"?member=ann"), dial(t, at.url+"?member=ann"), dial(t, from.url+"?member=ann")}
		for _, tab := range tabs[:2] {
			tab.gets("replayed")
		}
		const ago = 5 * time.Second
		for _, e := range []sse.Event{
			{Name: "untimed", Data: []byte("a")},
			{Name: "late", Data: []byte("b"), At: time.Now().Add(-ago)},
			{Name: "early", Data: []byte("c"), At: time.Now().Add(time.Hour)}, // by another clock
		} {
			must(t, from.ToMember(t.Context(), "ann", e))
		}
		for _, tab := range tabs {
			tab.gets("a", "b", "c")
		}
		eventually(t, "all is told", func() bool { names, _ := told.all(); return len(names) >= 4 })
		names, after := told.all()
		for i, name := range names {
			switch d := after[i]; {
			case name == "late" && d >= ago && d < ago+patience:
			case name == "early" && d == 0:
			default:
				t.Errorf("%s was %v late", name, d)
			}
		}
		assert.Len(t, names, 4, "told")
	})
}
