package scenarios

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/membus"
	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/internal/redistest"
)

// ask sends requests for one key from all instances at once, and returns the
// published ones. No run ends before all have their answer.
func ask(t *testing.T, all []*coalesce.Coalescer, requests int) (published []coalesce.Ticket) {
	t.Helper()
	var mu sync.Mutex
	var told atomic.Int64
	begin := make(chan struct{})
	var callers sync.WaitGroup
	for i := range requests {
		callers.Go(func() {
			<-begin
			d, err := all[i%len(all)].Do(t.Context(), theKey, coalesce.High, func(_ context.Context, version int64) error {
				mu.Lock()
				defer mu.Unlock()
				published = append(published, coalesce.Ticket{Key: theKey, Priority: coalesce.High, Version: version})
				return nil
			})
			check(t, "request", err)
			if d.Outcome == coalesce.AlreadyProcessing {
				told.Add(1)
			}
		})
	}
	close(begin)
	callers.Wait()
	if n := told.Load(); n != int64(requests-1) {
		t.Errorf("%d of %d requests were told that somebody is at it, want all but one", n, requests)
	}
	return published
}

// A thousand concurrent requests of ten instances: one publish; and a thousand
// readers of ten mirrors: one event.
func TestScenario03Herd(t *testing.T) {
	if proved(t) == servers {
		t.Run("servers", herdOnServers)
	}
	eachFleet(t, func(t *testing.T, all []*coalesce.Coalescer) {
		published := ask(t, all, 1000)
		require.Len(t, published, 1, "publishes")
		last := published[0]
		if released, err := all[9].Release(t.Context(), last.Key, last.Priority, last.Version); !released || err != nil {
			t.Fatalf("the run is over: %v, %v", released, err)
		}

		box := boxtest.Open(t, "sqlite://"+freshFile(t))
		b, err := bus.Open(t.Context(), "mem://", membus.Scheme())
		require.NoError(t, err)
		t.Cleanup(func() { check(t, "close the bus", b.Close()) })
		check(t, "declare topics", b.Declare(t.Context(), artist.Topics()...))
		var mirrors []*artist.Mirror
		for _, c := range all {
			m, err := artist.New(box.Store, c, b.Publisher(), artist.Config{ReadTimeout: time.Minute, AskTimeout: time.Minute, Logger: quiet})
			require.NoError(t, err)
			start(t, "mirror", m.Run)
			mirrors = append(mirrors, m)
		}
		var readers sync.WaitGroup
		for i := range 1000 {
			readers.Go(func() {
				_, err := mirrors[i%len(mirrors)].Get(t.Context(), theKey)
				check(t, "read", err)
			})
		}
		readers.Wait()
		eventually(t, "all have their answer", func() bool {
			answered := int64(0)
			for _, m := range mirrors {
				s := m.Stats()
				answered += s.Asked + s.Refused
				if s.Waiting > 0 {
					return false
				}
			}
			return answered >= int64(len(mirrors))
		})
		assert.Equal(t, 1, lagOf(t, b, artist.TopicHigh), "events for one artist")
	})
}

// Ten instances ask for one key at once, repeatedly: one of them publishes each time.
func TestScenario12TenInstances(t *testing.T) {
	if proved(t) == servers {
		t.Run("servers", tenOnServers)
	}
	eachFleet(t, func(t *testing.T, all []*coalesce.Coalescer) {
		for round := range 20 {
			published := ask(t, all, len(all))
			require.Lenf(t, published, 1, "round %d: %d publishes", round, len(published))
			last := published[0]
			if _, again, err := all[round%len(all)].Done(t.Context(), last.Key, last.Priority, last.Version); again || err != nil {
				t.Fatalf("round %d: one more run: %v, %v", round, again, err)
			}
		}
	})
}

// versions makes every instance take some versions of one key, each under the lock
// that another released, and returns them in their order.
func versions(t *testing.T, all []*coalesce.Coalescer, each int) (list []int64) {
	t.Helper()
	var mu sync.Mutex
	var instances sync.WaitGroup
	for _, c := range all {
		instances.Go(func() {
			for n := 0; n < each; {
				d, err := c.Request(t.Context(), theKey, coalesce.High)
				if err != nil {
					t.Error(err)
					return
				}
				if !d.Mine() {
					continue
				}
				mu.Lock() // the holder of the coalescer's lock is alone, until it releases the lock
				list = append(list, d.Ticket.Version)
				mu.Unlock()
				n++
				if released, err := c.Release(t.Context(), theKey, coalesce.High, d.Ticket.Version); !released || err != nil {
					t.Errorf("release of %d: %v, %v", d.Ticket.Version, released, err)
					return
				}
			}
		})
	}
	instances.Wait()
	return list
}

func growing(t *testing.T, list []int64, want int) {
	t.Helper()
	assert.Len(t, list, want, "versions")
	for i := 1; i < len(list); i++ {
		if list[i] <= list[i-1] {
			t.Errorf("version %d is %d, after %d", i, list[i], list[i-1])
		}
	}
}

// Ten instances take versions of one key. No version is repeated, and none is below
// an earlier one, also when Redis has lost everything in between.
func TestScenario13Versions(t *testing.T) {
	const each = 5
	if proved(t) == servers {
		t.Run("servers", versionsOfProcesses)
	}
	eachFleet(t, func(t *testing.T, all []*coalesce.Coalescer) {
		growing(t, versions(t, all, each), each*len(all))
	})
	if proved(t) == embedded {
		return // the state in the process cannot be flushed
	}
	t.Run("FLUSHALL", func(t *testing.T) {
		server := redistest.StartServer(t)
		all, client := redisFleet(t, server.URL(), "upd:"), openRedis(t, server.URL())
		var list []int64
		for round := range 4 {
			if round > 0 {
				require.NoError(t, client.FlushAll(t.Context()).Err())
			}
			list = append(list, versions(t, all, each)...)
		}
		growing(t, list, 4*each*len(all))
	})
}

// Of twenty that release one run through ten instances, one does; and an instance
// with an earlier run does not take it from its holder.
func TestScenario15ConcurrentRelease(t *testing.T) {
	if proved(t) == servers {
		t.Run("servers", releaseByProcesses)
	}
	eachFleet(t, func(t *testing.T, all []*coalesce.Coalescer) {
		earlier := int64(0)
		for round := range 20 {
			d, err := all[round%len(all)].Request(t.Context(), theKey, coalesce.High)
			if err != nil || d.Outcome != coalesce.Published {
				t.Fatalf("round %d: %v, %v", round, d.Outcome, err)
			}
			if earlier > 0 {
				if released, err := all[0].Release(t.Context(), theKey, coalesce.High, earlier); released || err != nil {
					t.Fatalf("round %d: an earlier holder took the lock: %v, %v", round, released, err)
				}
			}
			var n atomic.Int64
			begin := make(chan struct{})
			var callers sync.WaitGroup
			for i := range 20 {
				callers.Go(func() {
					<-begin
					released, err := all[i%len(all)].Release(t.Context(), theKey, coalesce.High, d.Ticket.Version)
					check(t, "release", err)
					if released {
						n.Add(1)
					}
				})
			}
			close(begin)
			callers.Wait()
			if n.Load() != 1 {
				t.Fatalf("round %d: %d releases succeeded", round, n.Load())
			}
			earlier = d.Ticket.Version
		}
	})
}
