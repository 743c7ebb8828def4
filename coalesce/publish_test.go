package coalesce_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/coalesce/memcoalesce"
	"github.com/millrace-go/millrace/fault"
)

func TestDoPublishesOnce(t *testing.T) {
	c := newCoalescer(t, memcoalesce.New(), coalesce.Config{})
	var published []int64
	publish := func(_ context.Context, version int64) error {
		published = append(published, version)
		return nil
	}
	var decisions []coalesce.Decision
	for _, p := range []coalesce.Priority{coalesce.Low, coalesce.Low, coalesce.High, coalesce.High, coalesce.Low} {
		d, err := c.Do(t.Context(), "k", p, publish)
		require.NoError(t, err)
		decisions = append(decisions, d)
	}
	for i, o := range []driver.Outcome{coalesce.Published, coalesce.AlreadyProcessing, coalesce.Upgraded, coalesce.AlreadyProcessing, coalesce.AlreadyProcessing} {
		assert.Equalf(t, o, decisions[i].Outcome, "request %d", i)
	}
	if len(published) != 2 || published[0] != decisions[0].Ticket.Version || published[1] != decisions[2].Ticket.Version || published[0] >= published[1] {
		t.Errorf("published the versions %v of %v", published, decisions)
	}
	got := c.Stats()
	if wanted := (coalesce.Stats{Published: 1, Upgraded: 1, Coalesced: 3, Breaker: "closed"}); got != wanted {
		t.Errorf("%+v, want %+v", got, wanted)
	}
}

// TestFailedPublishReleases: a publish that fails, with its context or by a panic, frees the
// key at once.
func TestFailedPublishReleases(t *testing.T) {
	for name, publish := range map[string]func(cancel context.CancelFunc) error{
		"fails":              func(context.CancelFunc) error { return errPublish },
		"ends its context":   func(cancel context.CancelFunc) error { cancel(); return errPublish },
		"panics":             func(context.CancelFunc) error { panic(errPublish) },
		"panics and cancels": func(cancel context.CancelFunc) error { cancel(); panic(errPublish) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCoalescer(t, memcoalesce.New(), coalesce.Config{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			func() {
				defer func() { _ = recover() }()
				d, err := c.Do(ctx, "k", coalesce.Low, func(context.Context, int64) error { return publish(cancel) })
				if d.Outcome != coalesce.Published || !errors.Is(err, errPublish) {
					t.Errorf("%v, %v; want Published and the publisher's error", d.Outcome, err)
				}
			}()
			want(t, c, coalesce.Low, coalesce.Published)
		})
	}
}

// TestFailedUpgradeLosesTheLowRun: after a failed publish of an upgrade the low run is obsolete
// already, and the key is not refreshed until the next request.
func TestFailedUpgradeLosesTheLowRun(t *testing.T) {
	c := newCoalescer(t, memcoalesce.New(), coalesce.Config{})
	low := want(t, c, coalesce.Low, coalesce.Published)
	d, err := c.Do(t.Context(), "k", coalesce.High, func(context.Context, int64) error { return errPublish })
	if d.Outcome != coalesce.Upgraded || !errors.Is(err, errPublish) {
		t.Fatalf("%v, %v", d.Outcome, err)
	}
	if obsolete, err := c.Obsolete(t.Context(), "k", low.Version); !obsolete || err != nil {
		t.Errorf("the low run is obsolete: %v, %v; want true", obsolete, err)
	}
	want(t, c, coalesce.Low, coalesce.Published)
}

// TestReleaseThatFails: if the release fails too, both errors are returned, and the lock stands
// until its TTL.
func TestReleaseThatFails(t *testing.T) {
	s := watch(func(_ context.Context, what string) error {
		if what == "release" {
			return errDown
		}
		return nil
	})
	c := newCoalescer(t, s, coalesce.Config{})
	_, err := c.Do(t.Context(), "k", coalesce.Low, func(context.Context, int64) error { return fault.MarkTransient(errPublish) })
	if !errors.Is(err, errPublish) || !errors.Is(err, coalesce.ErrUnavailable) || fault.Of(err) != fault.Transient {
		t.Errorf("%v (%v); want both errors, of the publisher's class", err, fault.Of(err))
	}
	want(t, c, coalesce.Low, coalesce.AlreadyProcessing)
	require.NoError(t, s.Backdate(t.Context(), "k", time.Minute))
	want(t, c, coalesce.Low, coalesce.Published)
}

// TestAgain: one more run is requested by many, begun once, and released if its publish fails.
func TestAgain(t *testing.T) {
	c := newCoalescer(t, memcoalesce.New(), coalesce.Config{})
	first := wantAgain(t, c, coalesce.Low, coalesce.Published)
	wantAgain(t, c, coalesce.Low, coalesce.AlreadyProcessing)
	wantAgain(t, c, coalesce.Low, coalesce.AlreadyProcessing)
	next, again, err := c.Done(t.Context(), first.Key, first.Priority, first.Version)
	if err != nil || !again || next.Version <= first.Version {
		t.Fatalf("%v, %v, %v", next, again, err)
	}
	var published coalesce.Ticket
	if err := c.Publish(t.Context(), next, func(_ context.Context, t coalesce.Ticket) error { published = t; return nil }); err != nil || published != next {
		t.Fatalf("published %v, %v; want %v", published, err, next)
	}
	wantAgain(t, c, coalesce.Low, coalesce.AlreadyProcessing)
	last, again, err := c.Done(t.Context(), next.Key, next.Priority, next.Version)
	if err != nil || !again {
		t.Fatal(last, again, err)
	}
	require.ErrorIs(t, c.Publish(t.Context(), last, func(context.Context, coalesce.Ticket) error { return errPublish }), errPublish)
	want(t, c, coalesce.Low, coalesce.Published)
	assert.EqualValues(t, 2, c.Stats().Reruns, "other runs counted")
	if err := c.Publish(t.Context(), coalesce.Ticket{Key: "k", Priority: coalesce.Low}, nil); fault.Of(err) != fault.Permanent {
		t.Errorf("publishing no ticket: %v, want a permanent error", err)
	}
}

// TestConflicts: a ticket that lost its lock is reported and counted by every call that detects
// it.
func TestConflicts(t *testing.T) {
	var reported []coalesce.Ticket
	s := memcoalesce.New()
	c := newCoalescer(t, s, coalesce.Config{OnConflict: func(t coalesce.Ticket) { reported = append(reported, t) }})
	mine := want(t, c, coalesce.High, coalesce.Published)
	if ok, err := c.Extend(t.Context(), mine.Key, mine.Priority, mine.Version); !ok || err != nil {
		t.Fatal(ok, err)
	}
	require.NoError(t, s.Backdate(t.Context(), "k", time.Minute))
	if ok, err := c.Extend(t.Context(), mine.Key, mine.Priority, mine.Version); ok || err != nil {
		t.Error(ok, err)
	}
	if ok, err := c.Release(t.Context(), mine.Key, mine.Priority, mine.Version); ok || err != nil {
		t.Error(ok, err)
	}
	if _, again, err := c.Done(t.Context(), mine.Key, mine.Priority, mine.Version); again || err != nil {
		t.Error(again, err)
	}
	if n := c.Stats().Conflicts; n != 3 || len(reported) != 3 || reported[2] != mine {
		t.Errorf("%d conflicts counted, reported %v; want 3 of %v", n, reported, mine)
	}
}
