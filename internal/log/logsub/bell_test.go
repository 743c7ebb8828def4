package logsub_test

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/internal/log/logsub"
)

func TestBell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tick = 5 * time.Millisecond
		var sent []logsub.Change
		var at []time.Duration
		start := time.Now()
		fail := true
		b := logsub.NewBell(tick, func(_ context.Context, c logsub.Change) error {
			sent, at = append(sent, c), append(at, time.Since(start))
			if fail {
				fail = false
				return errors.New("the server is away")
			}
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			b.Run(ctx, slog.New(slog.DiscardHandler))
		}()
		check := func(want ...logsub.Change) {
			t.Helper()
			assert.Truef(t, reflect.DeepEqual(sent, want), "sent %+v at %v, want %+v", sent, at, want)
			sent, at = nil, nil
		}
		// The first change of a burst is sent at once, the rest together.
		b.Ring(logsub.Change{Lanes: []int{3}})
		synctest.Wait()
		for range 50 {
			b.Ring(logsub.Change{Lanes: []int{7, 1, 7}})
			<-time.After(tick / 25)
		}
		<-time.After(2 * tick)
		together := logsub.Change{Lanes: []int{1, 7}}
		check(logsub.Change{Lanes: []int{3}}, together, together)
		// Changes recorded before the end are still sent.
		b.Ring(logsub.Change{Groups: true})
		cancel()
		<-done
		check(logsub.Change{Groups: true})
	})
}
