package memqueue_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/memqueue"
)

func newStore(t testing.TB) driver.MemoryStore {
	t.Helper()
	s, err := memqueue.New(memqueue.Config{})
	require.NoError(t, err)
	return s
}

func TestBadRules(t *testing.T) {
	s := newStore(t)
	join := func(event string, alter func(r *driver.Rules)) error {
		r := rules
		alter(&r)
		_, err := s.Visit(t.Context(), event, r, driver.Beats{}, []driver.Visit{{User: "a", Position: 1}})
		return err
	}
	for what, err := range map[string]error{
		"the event has no name": join("", func(*driver.Rules) {}),
		"Rules.Threshold is -1": join("e", func(r *driver.Rules) { r.Threshold = -1 }),
		"Rules.Batch is 0":      join("e", func(r *driver.Rules) { r.Batch = 0 }),
		"a duration":            join("e", func(r *driver.Rules) { r.Seen = 0 }),
		"position is -1": func() error {
			_, err := s.Visit(t.Context(), "e", rules, driver.Beats{}, []driver.Visit{{User: "a", Position: -1}})
			return err
		}(),
		"from is -1": func() error {
			_, err := s.Sweep(t.Context(), "e", rules, -1)
			return err
		}(),
		"Positions is -1": func() error {
			_, err := s.Change(t.Context(), "e", rules, driver.Change{Gate: &driver.Gate{Positions: -1}})
			return err
		}(),
	} {
		if err == nil || !strings.Contains(err.Error(), what) || fault.Of(err) != fault.Permanent {
			t.Errorf("want a permanent error with %q: %v", what, err)
		}
	}
	if events, err := s.Events(t.Context()); err != nil || len(events) > 0 {
		t.Errorf("events %v, %v", events, err)
	}
	assert.NoError(t, join("e", func(*driver.Rules) {}), "good rules")
}

// Positions out of range count as used ones, and tickets as none.
func TestOrdersStayInRange(t *testing.T) {
	s := newStore(t)
	_, err := s.Change(t.Context(), "e", rules, driver.Change{Gate: &driver.Gate{On: true}})
	require.NoError(t, err)
	got, err := s.Visit(t.Context(), "e", rules, driver.Beats{}, []driver.Visit{
		{User: "a", Position: 1}, {User: "b", Position: 1 << 53}, {User: "c", Position: 1<<63 - 1},
		{User: "d", Position: 5, Epoch: 1, Order: 1<<53 + 1}, {User: "e", Position: 6, Epoch: 1, Order: -7},
	})
	require.NoError(t, err)
	first := got.Outcomes[0].Order
	for i, want := range []int64{0, 0, 0, 4, 5} {
		o := got.Outcomes[i]
		if i == 1 || i == 2 {
			if o != (driver.Outcome{Status: driver.Gated}) {
				t.Errorf("visit %d is answered %+v", i, o)
			}
			continue
		}
		if o.Status != driver.Waiting || o.Order != first+want {
			t.Errorf("visit %d is answered %+v, want order %d", i, o, first+want)
		}
	}
	beats := driver.Beats{Epoch: got.Epoch, Orders: []int64{-1, 0, 1<<63 - 1, -1 << 63}}
	_, err = s.Visit(t.Context(), "e", rules, beats, nil)
	assert.NoError(t, err)
}

func TestNobodyLeavesNothing(t *testing.T) {
	s := newStore(t)
	first, err := s.Look(t.Context(), "e", rules, 0, 0)
	require.NoError(t, err)
	_, err = s.Visit(t.Context(), "e", rules, driver.Beats{}, []driver.Visit{{Kind: driver.Heartbeat, User: "a"}})
	require.NoError(t, err)
	_, err = s.Admit(t.Context(), "e", rules)
	require.NoError(t, err)
	if swept, err := s.Sweep(t.Context(), "e", rules, 0); err != nil || !swept.Done {
		t.Fatal(swept, err)
	}
	assert.Equal(t, 0, memqueue.Rooms(s), "rooms of nobody")
	got, err := s.Visit(t.Context(), "e", rules, driver.Beats{}, []driver.Visit{{User: "a"}})
	require.NoError(t, err)
	if n := memqueue.Rooms(s); n != 1 || got.Epoch != first.Epoch {
		t.Errorf("%d rooms; epoch %d before somebody came and %d after", n, first.Epoch, got.Epoch)
	}
}

// By default a store counts the time that passes, not the wall clock.
func TestClockIsMonotonic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		r := rules
		r.Threshold = 1
		visit := []driver.Visit{{User: "a"}}
		got, err := s.Visit(t.Context(), "e", r, driver.Beats{}, visit)
		require.NoError(t, err)
		if !got.Now.Equal(time.Now()) || got.Outcomes[0].Left != r.Active {
			t.Errorf("at %s: %+v", time.Now(), got)
		}
		time.Sleep(70 * time.Millisecond)
		if got, err = s.Visit(t.Context(), "e", r, driver.Beats{}, visit); err != nil {
			t.Fatal(err)
		}
		if left := r.Active - 70*time.Millisecond; got.Outcomes[0].Left != left {
			t.Errorf("70 ms later %s are left, want %s", got.Outcomes[0].Left, left)
		}
	})
}
