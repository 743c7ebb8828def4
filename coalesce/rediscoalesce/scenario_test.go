package rediscoalesce_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/membus"
	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/redistest"
)

const instances = 10

// fleet returns ten instances of an application, each with its own client.
func fleet(t *testing.T, url, prefix string) []*coalesce.Coalescer {
	t.Helper()
	var all []*coalesce.Coalescer
	for range instances {
		all = append(all, newCoalescer(t, newStore(t, open(t, url), prefix), coalesce.Config{
			HighTTL: time.Hour, LowTTL: time.Hour, VersionTTL: 2 * time.Hour, Timeout: time.Minute,
		}))
	}
	return all
}

func newCoalescer(t *testing.T, s driver.Store, cfg coalesce.Config) *coalesce.Coalescer {
	t.Helper()
	c, err := coalesce.New(s, cfg)
	require.NoError(t, err)
	return c
}

// herd sends requests for one key from every instance at once, and returns the published
// tickets. The work goes on until all requests are decided.
func herd(t *testing.T, all []*coalesce.Coalescer, key string, requests int) (published []driver.Ticket) {
	t.Helper()
	var mu sync.Mutex
	var outcomes [4]atomic.Int64
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range requests {
		wg.Go(func() {
			<-start
			d, err := all[i%len(all)].Do(t.Context(), key, driver.Low, func(_ context.Context, version int64) error {
				mu.Lock()
				defer mu.Unlock()
				published = append(published, driver.Ticket{Key: key, Priority: driver.Low, Version: version})
				return nil
			})
			if err != nil {
				t.Error(err)
				return
			}
			outcomes[d.Outcome].Add(1)
		})
	}
	close(start)
	wg.Wait()
	if n := outcomes[driver.AlreadyProcessing].Load(); n != int64(requests-1) {
		t.Errorf("%d of %d requests were told that somebody is at it", n, requests)
	}
	return published
}

// TestHerd: one publish for a thousand requests from ten instances.
func TestHerd(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		client := open(t, url)
		p := redistest.Prefix(t, client)
		all := fleet(t, url, p)
		published := herd(t, all, "artist-7", 1000)
		require.Len(t, published, 1, "publishes")
		if released, err := all[3].Release(t.Context(), published[0].Key, published[0].Priority, published[0].Version); !released || err != nil {
			t.Errorf("the work is done: %v, %v", released, err)
		}
	})
}

// TestTenInstancesOneKey: ten instances, one request each, in several rounds: one publish per
// round.
func TestTenInstancesOneKey(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		all := fleet(t, url, redistest.Prefix(t, open(t, url)))
		for round := range 30 {
			published := herd(t, all, "artist-7", instances)
			require.Lenf(t, published, 1, "round %d: %d publishes", round, len(published))
			last := published[0]
			if _, again, err := all[round%instances].Done(t.Context(), last.Key, last.Priority, last.Version); again || err != nil {
				t.Fatal(again, err)
			}
		}
	})
}

// issue has every instance take versions of one key, each after another instance's release, and
// returns them in the order in which they were assigned.
func issue(t *testing.T, all []*coalesce.Coalescer, each int) []int64 {
	t.Helper()
	var mu sync.Mutex
	var versions []int64
	var wg sync.WaitGroup
	for _, c := range all {
		wg.Go(func() {
			for n := 0; n < each; {
				d, err := c.Request(t.Context(), "artist-7", driver.High)
				if err != nil {
					t.Error(err)
					return
				}
				if !d.Mine() {
					continue
				}
				// The holder of the lock is alone until it releases the lock.
				mu.Lock()
				versions = append(versions, d.Ticket.Version)
				mu.Unlock()
				n++
				if released, err := c.Release(t.Context(), "artist-7", driver.High, d.Ticket.Version); !released || err != nil {
					t.Errorf("release of %d: %v, %v", d.Ticket.Version, released, err)
					return
				}
			}
		})
	}
	wg.Wait()
	return versions
}

// growing fails the test for a version that is not above the one before.
func growing(t *testing.T, versions []int64) {
	t.Helper()
	for i := 1; i < len(versions); i++ {
		if versions[i] <= versions[i-1] {
			t.Errorf("version %d is %d after %d", i, versions[i], versions[i-1])
		}
	}
}

// TestVersionsOverInstances: ten instances take versions of one key; then the state is lost,
// and they take more. No version is used twice, and each is above the earlier ones.
func TestVersionsOverInstances(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		client := open(t, url)
		p := redistest.Prefix(t, client)
		all := fleet(t, url, p)
		versions := issue(t, all, 3)
		for range 3 {
			require.NoError(t, lose(client, p)(t.Context(), "artist-7"))
			versions = append(versions, issue(t, all, 3)...)
		}
		assert.Len(t, versions, 4*3*instances, "versions")
		growing(t, versions)
	})
	t.Run("FLUSHALL", func(t *testing.T) {
		s := redistest.StartServer(t)
		all := fleet(t, s.URL(), "upd:")
		client := open(t, s.URL())
		versions := issue(t, all, 3)
		for range 3 {
			require.NoError(t, client.FlushAll(t.Context()).Err())
			versions = append(versions, issue(t, all, 3)...)
		}
		growing(t, versions)
	})
}

// TestPriorityInversion: a low refresh waits in its queue when a high request arrives. The high
// request gets the lock, and the low event is skipped when its turn comes.
func TestPriorityInversion(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		all := fleet(t, url, redistest.Prefix(t, open(t, url)))
		c := all[0]
		b, err := bus.Open(t.Context(), "mem://", membus.Scheme())
		require.NoError(t, err)
		defer b.Close()
		request := func(c *coalesce.Coalescer, p driver.Priority, want driver.Outcome) int64 {
			d, err := c.Do(t.Context(), "artist-7", p, func(_ context.Context, version int64) error {
				e, err := event.New("UpdateRequest", "test", nil)
				if err != nil {
					return err
				}
				e.AggregateID, e.Priority, e.Sequence = "artist-7", event.Priority(p), uint64(version)
				m, err := event.Structured{}.Encode(e)
				if err != nil {
					return err
				}
				return b.Publisher().Publish("updates-"+string(p), m)
			})
			if err != nil || d.Outcome != want {
				t.Fatalf("%s: %v, %v; want %v", p, d.Outcome, err, want)
			}
			return d.Ticket.Version
		}
		low := request(all[1], driver.Low, driver.Published)
		high := request(all[2], driver.High, driver.Upgraded)

		var handled []int64
		ends := make(chan struct{}, 2)
		worker := func(p driver.Priority) bus.Consumer {
			return bus.Consumer{
				Topic: "updates-" + string(p), Group: "workers", Concurrency: 1, Current: c.Sequence,
				Hooks: bus.Hooks{OnObsolete: func(bus.Report) { c.Skipped(); ends <- struct{}{} }},
				Handler: func(m *message.Message) error {
					e, err := event.Decode(m)
					if err != nil {
						return err
					}
					handled = append(handled, int64(e.Sequence))
					_, _, err = c.Done(m.Context(), e.Key(), driver.Priority(e.Priority), int64(e.Sequence))
					ends <- struct{}{}
					return err
				},
			}
		}
		// The high queue is processed first, because it is shorter.
		for _, p := range []driver.Priority{driver.High, driver.Low} {
			r, err := bus.NewRunner(b, bus.RunnerConfig{})
			require.NoError(t, err)
			require.NoError(t, r.Add(worker(p)))
			ctx, stop := context.WithCancel(t.Context())
			ran := make(chan error, 1)
			go func() { ran <- r.Run(ctx) }()
			<-ends
			stop()
			if err := <-ran; err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		if !slices.Equal(handled, []int64{high}) || c.Stats().Obsolete != 1 {
			t.Errorf("handled %v of low %d and high %d, skipped %d; want the high one and 1", handled, low, high, c.Stats().Obsolete)
		}
		// The lock is free again, because its holder has ended the run.
		request(all[3], driver.Low, driver.Published)
	})
}

// TestConcurrentRelease: twenty workers release one ticket, through ten instances; one
// succeeds.
func TestConcurrentRelease(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		all := fleet(t, url, redistest.Prefix(t, open(t, url)))
		for round := range 20 {
			d, err := all[round%instances].Request(t.Context(), "artist-7", driver.Low)
			if err != nil || d.Outcome != driver.Published {
				t.Fatalf("round %d: %v, %v", round, d.Outcome, err)
			}
			var n atomic.Int32
			start := make(chan struct{})
			var wg sync.WaitGroup
			for i := range 2 * instances {
				wg.Go(func() {
					<-start
					released, err := all[i%instances].Release(t.Context(), "artist-7", driver.Low, d.Ticket.Version)
					assert.NoError(t, err)
					if released {
						n.Add(1)
					}
				})
			}
			close(start)
			wg.Wait()
			if n.Load() != 1 {
				t.Errorf("round %d: %d releases succeeded", round, n.Load())
			}
		}
	})
}
