package logsub_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logsub"
)

// A member that starts while a group is moved gets the group after the move, not before.
func TestAMemberThatStartsDuringAResetWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, one)
		i.publish(series("k", 1, 9)...)
		first := i.subscribe(20)
		expect(t, first, series("k", 1, 9)...)
		require.NoError(t, first.Close())
		operator := start(t, m, one)
		late := start(t, m, one)
		var member *logsub.Source
		hook := func(op string) error {
			if op == "begin" && member == nil { // the leases are taken, the cursor has not moved
				member = late.subscribe(20)
				silent(t, member, 5*time.Second)
			}
			return nil
		}
		operator.link.fail.Store(&hook)
		moved, err := operator.Reset(t.Context(), topic, group, bus.Place{}, false)
		if err != nil || moved != (driver.Moved{Again: 9}) {
			t.Fatalf("moved %+v: %v", moved, err)
		}
		expect(t, member, series("k", 1, 9)...)
	})
}

// A crashed member prevents its group from being moved until its lease expires.
func TestACrashedMembersGroupIsLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, one)
		i.publish(series("k", 1, 9)...)
		expect(t, i.subscribe(20), series("k", 1, 9)...)
		within(t, time.Second, "the cursor", func() bool { return m.done(lane0) == 9 })
		i.link.cut.Store(true)
		operator := start(t, m, one)
		if _, err := operator.Reset(t.Context(), topic, group, bus.Place{}, false); !errors.Is(err, bus.ErrGroupLive) {
			t.Errorf("a reset says %v", err)
		}
		assert.ErrorIs(t, operator.Delete(t.Context(), topic, group), bus.ErrGroupLive, "a deletion")
		time.Sleep(ttl + time.Second)
		_, err := operator.Reset(t.Context(), topic, group, bus.Place{}, false)
		assert.NoError(t, err)
		assert.EqualValues(t, 0, m.done(lane0), "the cursor")
	})
}

// A member counts before it has a lease, and a lease counts without a member.
func TestMembersAndLeasesAreLive(t *testing.T) {
	for what, live := range map[string]func(m *memory, i *instance){
		"a member without a lease": func(_ *memory, i *instance) {
			hook := func(op string) error {
				if strings.HasPrefix(op, "lease") {
					return errCut
				}
				return nil
			}
			i.link.fail.Store(&hook)
			i.subscribe(20)
			time.Sleep(time.Second)
		},
		"a lease without a member": func(m *memory, i *instance) {
			next(i.t, i.subscribe(20))
			i.link.cut.Store(true)
			m.mu.Lock()
			m.members = nil
			m.mu.Unlock()
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			i := start(t, m, one)
			i.publish(series("k", 1, 3)...)
			require.NoError(t, i.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{group}}))
			live(m, i)
			operator := start(t, m, one)
			if _, err := operator.Reset(t.Context(), topic, group, bus.Place{}, false); !errors.Is(err, bus.ErrGroupLive) {
				t.Errorf("%s: a reset says %v", what, err)
			}
			if _, err := operator.Reset(t.Context(), topic, group, bus.Place{}, true); err != nil {
				t.Errorf("%s: a dry run says %v", what, err)
			}
		})
	}
}

// If a reset is cut off at any step, all partitions have moved or none, the group can be used,
// and the same reset completes at once.
func TestAResetCutAnywhereCanBeMadeAgain(t *testing.T) {
	three := logsub.Config{Partitions: 3}
	for cut := 0; ; cut++ {
		done := false
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			i := start(t, m, three)
			const messages = 8 * 4
			for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
				i.publish(series(key, 1, 4)...)
			}
			s := i.subscribe(messages)
			for range messages {
				next(t, s).Done()
			}
			require.NoError(t, s.Close())
			require.NotContains(t, cursors(m), 0, "a partition has no messages")
			left := cut
			killed := start(t, m, three)
			hook := func(string) error {
				if left--; left < 0 {
					return errCut
				}
				return nil
			}
			killed.link.fail.Store(&hook)
			_, err := killed.Reset(t.Context(), topic, group, bus.Place{}, false)
			// Releasing leases may fail: they expire.
			if done = left >= 0; done && err != nil {
				t.Fatalf("cut after %d calls: %v", cut, err)
			}
			stands := cursors(m)
			if slices.Contains(stands, 0) && slices.Max(stands) > 0 || err == nil && stands[0] > 0 {
				t.Errorf("cut after %d calls, the partitions stand at %v", cut, stands)
			}
			second := start(t, m, three)
			_, err = second.Reset(t.Context(), topic, group, bus.Place{}, false)
			assert.NoError(t, err, "again after %d calls", cut)
			again := second.subscribe(messages)
			for range messages {
				next(t, again).Done()
			}
		})
		if done {
			if cut < 10 {
				t.Errorf("a reset makes only %d calls", cut)
			}
			return
		}
	}
}

// cursors returns the positions of the group's three cursors.
func cursors(m *memory) (all []int64) {
	for lane := range 3 {
		all = append(all, m.done(log.Cursor{Consumer: group, Lane: lane}))
	}
	return all
}

// The records of crashes belong to the old position.
func TestAResetForgetsCrashes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		cfg := logsub.Config{Partitions: 1, Holder: "pod-1"}
		start(t, m, cfg).publish(series("k", 1, 9)...)
		for range 4 {
			i := start(t, m, cfg)
			if d, ok := next(t, i.subscribe(1)).(driver.Suspected); ok && d.Alone() {
				_, err := d.Begin(t.Context())
				require.NoError(t, err)
			}
			i.link.cut.Store(true)
		}
		time.Sleep(ttl + time.Second)
		i := start(t, m, cfg)
		if m.starts[lane0].Starts < 3 || m.starts[lane0].Message == "" {
			t.Fatalf("nothing to forget: %+v", m.starts[lane0])
		}
		_, err := i.Reset(t.Context(), topic, group, bus.Place{}, false)
		require.NoError(t, err)
		if m.starts[lane0] != (logsub.Start{}) {
			t.Errorf("after the reset it knows %+v", m.starts[lane0])
		}
	})
}

// Positions in partitions that a topic does not have are refused by name.
func TestPlacesThatATopicDoesNotHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := start(t, newMemory(), one)
		i.publish(series("k", 1, 3)...)
		require.NoError(t, i.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{group}}))
		nowhere := bus.Place{Positions: map[int]int64{7: 1}}
		const want = "logsub: Place.Positions names partition 7; topic has the partitions 0 to 0"
		if _, err := i.Reset(t.Context(), topic, group, nowhere, true); err == nil || err.Error() != want {
			t.Errorf("a reset says %v", err)
		}
		if err := i.Read(t.Context(), "topic", nowhere, func(*message.Message) error { return nil }); err == nil || err.Error() != want {
			t.Errorf("reading says %v", err)
		}
	})
}
