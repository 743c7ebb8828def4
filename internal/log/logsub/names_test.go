package logsub_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log/logsub"
)

// A killed process that restarts under its name has its partitions at once, and its heartbeat
// continues.
func TestHolderComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		cfg := logsub.Config{Holder: "pod-1", LeaseTTL: time.Hour}
		a := start(t, m, cfg)
		ch := a.subscribe(10)
		a.publish("k#1")
		expect(t, ch, "k#1")
		synctest.Wait()
		a.link.cut.Store(true) // killed: it sends nothing any more

		killed := time.Now()
		b := start(t, m, cfg)
		ch = b.subscribe(10)
		b.publish("k#2")
		for m := next(t, ch); ; m = next(t, ch) { // k#1 may not have been confirmed
			m.Done()
			if text(m) == "k#2" {
				break
			}
		}
		if waited := time.Since(killed); waited > time.Second {
			t.Errorf("it got its partitions after %v", waited)
		}
		// Without a heartbeat the member would be removed after the hour.
		<-time.After(3 * time.Hour)
		link := m.connect()
		members, err := directory{link}.Members(t.Context(), topic, group)
		if err != nil || !slices.Equal(members, []string{"pod-1-1"}) {
			t.Errorf("the members are %v (%v), want pod-1-1 alone", members, err)
		}
	})
}

// Members of one process have names of their own; a name becomes available once its member has
// left.
func TestMembersOfOneHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := start(t, m, logsub.Config{Holder: "pod-1"})
		first := a.subscribe(10)
		a.subscribe(10)
		members := func() []string {
			synctest.Wait()
			all, err := directory{m.connect()}.Members(t.Context(), topic, group)
			require.NoError(t, err)
			slices.Sort(all)
			return all
		}
		within(t, time.Second, "two members", func() bool { return slices.Equal(members(), []string{"pod-1-1", "pod-1-2"}) })
		require.NoError(t, first.Close())
		within(t, time.Second, "the second alone", func() bool { return slices.Equal(members(), []string{"pod-1-2"}) })
		a.subscribe(10)
		within(t, time.Second, "two members again", func() bool { return slices.Equal(members(), []string{"pod-1-1", "pod-1-2"}) })
	})
}

func TestHolderIsChecked(t *testing.T) {
	for _, holder := range []string{strings.Repeat("x", 201), "\xff"} {
		if _, err := logsub.New(newMemory().connect().backend(), logsub.Config{Holder: holder}); err == nil || !strings.Contains(err.Error(), "Holder") {
			t.Errorf("%.10q: %v", holder, err)
		}
	}
}

// Other processes are told which lanes have new entries, once they are committed, and that
// groups have changed.
func TestChangesAreAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		link := m.connect()
		backend := link.backend()
		var mu sync.Mutex
		var lanes []int
		groups := 0
		backend.Announce = func(c logsub.Change) {
			mu.Lock()
			defer mu.Unlock()
			lanes = append(lanes, c.Lanes...)
			if c.Groups {
				groups++
			}
		}
		hub, err := logsub.New(backend, logsub.Config{Partitions: 1})
		require.NoError(t, err)
		defer hub.Close()
		require.NoError(t, hub.Publisher().Publish(topic, msg("k#1")))
		told := func() string {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return fmt.Sprint(lanes, groups > 0)
		}
		assert.Equal(t, "[0] false", told(), "after a publish")
		refuse := func(string) error { return errCut }
		link.refuse.Store(&refuse)
		assert.Error(t, hub.Publisher().Publish(topic, msg("k#2")), "published in spite of the database")
		assert.Equal(t, "[0] false", told(), "after a failed publish")
		if at, member := hub.Reading(); len(at) != 0 || member {
			t.Errorf("it reads %v (member %t) without a subscription", at, member)
		}
		ch, err := hub.Source(t.Context(), topic, group, 10)
		require.NoError(t, err)
		expect(t, ch, "k#1")
		assert.Equal(t, "[0] true", told(), "after a subscription")
		if at, member := hub.Reading(); !slices.Equal(at, []int{0}) || !member {
			t.Errorf("it reads %v (member %t), want lane 0", at, member)
		}
	})
}
