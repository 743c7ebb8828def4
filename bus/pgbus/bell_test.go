package pgbus

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace-go/millrace/internal/log/logsub"
)

// ear notes what it is woken for.
type ear struct {
	lanes       []int
	all, groups int
}

func (e *ear) Wake(lanes ...int) {
	if len(lanes) == 0 {
		e.all++
	}
	e.lanes = append(e.lanes, lanes...)
}
func (e *ear) WakeGroups() { e.groups++ }

func TestBell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, other := newBell(), newBell()
		var sent []string
		var at []time.Duration
		start := time.Now()
		fail := true
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			b.run(ctx, slog.New(slog.DiscardHandler), func(_ context.Context, text string) error {
				sent, at = append(sent, text), append(at, time.Since(start))
				if fail {
					fail = false
					return errors.New("the database is away")
				}
				return nil
			})
		}()
		// The first of a burst at once, the rest together.
		b.ring(logsub.Change{Lanes: []int{3}})
		synctest.Wait()
		for range 50 {
			b.ring(logsub.Change{Lanes: []int{7, 1, 7}})
			<-time.After(tick / 25)
		}
		<-time.After(2 * tick)
		if want := []string{b.id + " 3", b.id + " 1 7", b.id + " 1 7"}; !slices.Equal(sent, want) {
			t.Errorf("sent %q at %v, want %q", sent, at, want)
		}
		// What was rung before the end is still sent.
		sent = nil
		b.ring(logsub.Change{Groups: true})
		cancel()
		<-done
		if want := []string{b.id + " g"}; !slices.Equal(sent, want) {
			t.Errorf("at the end %q was sent, want %q", sent, want)
		}

		for _, tc := range []struct {
			text string
			want ear
		}{
			{b.id + " g 1", ear{}}, // its own
			{other.id + " 1 7", ear{lanes: []int{1, 7}}},
			{other.id + " g", ear{groups: 1}},
			{other.id + " g 5", ear{groups: 1, lanes: []int{5}}},
			{other.id + " *", ear{groups: 1, all: 1}},
			{"", ear{groups: 1, all: 1}},
			{other.id + " 1 x", ear{groups: 1, all: 1}},
		} {
			var e ear
			b.hear(tc.text, &e)
			if e.all != tc.want.all || e.groups != tc.want.groups || tc.want.all == 0 && !slices.Equal(e.lanes, tc.want.lanes) {
				t.Errorf("%q woke %+v, want %+v", tc.text, e, tc.want)
			}
		}
		lanes := make([]int, 2000)
		for i := range lanes {
			lanes[i] = 1_000_000 + i
		}
		for n, all := range map[int]bool{900: false, 2000: true} {
			b.ring(logsub.Change{Lanes: lanes[:n]})
			if text := b.take(); len(text) > maxText || strings.HasSuffix(text, " *") != all {
				t.Errorf("%d lanes make %d bytes: %.80s", n, len(text), text)
			}
		}
	})
}
