package ssetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/sse"
)

// ReplayerHarness is a Replayer of one client that has seen nothing, with no events
// stored for it.
type ReplayerHarness struct {
	// Replayer under test; required.
	Replayer sse.Replayer
	// Event is the name of its events that have a cursor; required.
	Event string
	// Store stores one more, and returns its id once Replay can see it; required.
	Store func(ctx context.Context) (id string, err error)
	// Bound is the most events that Replay returns to a client that comes back; the
	// suite stores more. Required.
	Bound int
}

// RunReplayer runs every case as a subtest on a harness of its own.
func RunReplayer(t *testing.T, open func(t *testing.T) ReplayerHarness) {
	t.Helper()
	ReplayerSuite().Run(t, open)
}

// ReplayerSuite returns the promises of a Replayer.
func ReplayerSuite() conformance.Suite[ReplayerHarness] {
	return conformance.Suite[ReplayerHarness]{Cases: []conformance.Case[ReplayerHarness]{
		{Name: "nothing-missed", Run: func(ctx context.Context, h ReplayerHarness) error {
			ids, err := h.store(ctx, 2)
			if err != nil {
				return err
			}
			return h.replays(ctx, ids[1], nil, 0)
		}},
		{Name: "all-after-the-cursor", Run: func(ctx context.Context, h ReplayerHarness) error {
			ids, err := h.store(ctx, h.Bound+1)
			if err != nil {
				return err
			}
			return h.replays(ctx, ids[0], ids[1:], 0)
		}},
		{Name: "what-is-left-out-is-counted", Run: func(ctx context.Context, h ReplayerHarness) error {
			const over = 3
			ids, err := h.store(ctx, 1+over+h.Bound)
			if err != nil {
				return err
			}
			return h.replays(ctx, ids[0], ids[1+over:], over)
		}},
		{Name: "a-new-client-sees-the-newest", Run: func(ctx context.Context, h ReplayerHarness) error {
			ids, err := h.store(ctx, h.Bound+3)
			if err != nil {
				return err
			}
			got, _, err := h.replay(ctx, "")
			if err != nil {
				return err
			}
			if !slices.Equal(got, ids[max(0, len(ids)-len(got)):]) {
				return fmt.Errorf("a new client gets %v; want the newest in order", got)
			}
			return nil
		}},
		{Name: "replaying-heeds-its-context", Run: func(ctx context.Context, h ReplayerHarness) error {
			ids, err := h.store(ctx, 2)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			if missed, err := h.Replayer(ctx, sse.Cursors{h.Event: ids[0]}); err == nil && len(missed.Events) == 0 {
				return errors.New("an ended context is answered as if nothing was missed")
			}
			return nil
		}},
	}}
}

func (h ReplayerHarness) store(ctx context.Context, n int) (ids []string, err error) {
	for range n {
		id, err := h.Store(ctx)
		if err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// replay returns the ids of the events after one, and how many it leaves out.
func (h ReplayerHarness) replay(ctx context.Context, after string) (ids []string, left int, err error) {
	since := sse.Cursors{}
	if after != "" {
		since[h.Event] = after
	}
	missed, err := h.Replayer(ctx, since)
	if err != nil {
		return nil, 0, fmt.Errorf("replay: %w", err)
	}
	for _, e := range missed.Events {
		if e.Name == h.Event {
			ids = append(ids, e.ID)
		}
	}
	return ids, missed.Left[h.Event], nil
}

// replays expects exactly these events after one, and that so many are left out.
func (h ReplayerHarness) replays(ctx context.Context, after string, want []string, left int) error {
	got, out, err := h.replay(ctx, after)
	switch {
	case err != nil:
		return err
	case !slices.Equal(got, want):
		return fmt.Errorf("after %s come %v; want %v", after, got, want)
	case out != left:
		return fmt.Errorf("%d are said to be left out; want %d", out, left)
	}
	return nil
}
