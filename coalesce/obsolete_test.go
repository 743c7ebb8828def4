package coalesce_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/coalesce/memcoalesce"
	"github.com/millrace-go/millrace/event"
)

// Sequence has the type that a consumer wants, and a priority converts to an event's.
var (
	_ = bus.Consumer{Current: (*coalesce.Coalescer)(nil).Sequence}
	_ = coalesce.Priority(event.High)
)

func TestPrioritiesAreThoseOfEvents(t *testing.T) {
	if event.Priority(coalesce.High) != event.High || event.Priority(coalesce.Low) != event.Low {
		t.Error("the priorities differ from those of package event")
	}
}

func TestObsolete(t *testing.T) {
	s := memcoalesce.New()
	c := newCoalescer(t, s, coalesce.Config{})
	check := func(when string, version int64, obsolete bool, current int64) {
		t.Helper()
		if got, err := c.Obsolete(t.Context(), "k", version); got != obsolete || err != nil {
			t.Errorf("%s: %d is obsolete: %v, %v; want %v", when, version, got, err, obsolete)
		}
		if got, err := c.Sequence(t.Context(), "k"); got != uint64(current) || err != nil {
			t.Errorf("%s: the sequence is %d, %v; want %d", when, got, err, current)
		}
	}
	check("before the first request", 1, false, 0)
	low := want(t, c, coalesce.Low, coalesce.Published)
	check("its own", low.Version, false, low.Version)
	high := want(t, c, coalesce.High, coalesce.Upgraded)
	check("upgraded", low.Version, true, high.Version)
	check("the upgrade", high.Version, false, high.Version)
	check("from the future", high.Version+1, false, high.Version)
	require.NoError(t, s.Lose(t.Context(), "k"))
	check("after a loss", low.Version, false, 0)
	c.Skipped()
	assert.EqualValues(t, 2, c.Stats().Obsolete, "obsolete events counted, want the one found and the one reported")
}

// TestObsoleteWithoutStore: without an answer no event is obsolete, and an error is returned.
func TestObsoleteWithoutStore(t *testing.T) {
	c := newCoalescer(t, watch(func(context.Context, string) error { return errDown }), coalesce.Config{})
	if obsolete, err := c.Obsolete(t.Context(), "k", 1); obsolete || !errors.Is(err, coalesce.ErrUnavailable) {
		t.Errorf("%v, %v", obsolete, err)
	}
	if sequence, err := c.Sequence(t.Context(), "k"); sequence != 0 || !errors.Is(err, coalesce.ErrUnavailable) {
		t.Errorf("%d, %v", sequence, err)
	}
	if _, err := c.Obsolete(t.Context(), "", 1); !errors.Is(err, driver.ErrEmptyKey) {
		t.Errorf("no key: %v", err)
	}
}
