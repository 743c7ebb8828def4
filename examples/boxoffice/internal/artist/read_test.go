package artist

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
)

// An artist's life as a reader sees it, by itself: asked for, fetched, fresh.
func TestUpdatingBecomesFresh(t *testing.T) {
	lag := int64(0)
	r := newRig(t, Config{HighLag: func() (int64, bool) { return lag, true }}, WorkerConfig{})
	r.runs(t)
	r.upstream.has(t, "3", 9)
	first := r.get(t, "3")
	if first.Freshness != NotFound || !first.UpdateQueued || first.Snapshot != nil || first.LastCheckedAt != nil || first.EstimatedWaitMs != nil {
		t.Errorf("the first request: %+v", first)
	}
	lag = 250 // read by this goroutine only
	second := r.get(t, "3")
	if second.Freshness != Updating || !second.UpdateQueued || second.EstimatedWaitMs == nil || *second.EstimatedWaitMs != 2500 {
		t.Errorf("while it waits: %+v", second)
	}
	// Another process knows only the database.
	eventually(t, "the request is noted", func() bool {
		return r.box.Query(t, `SELECT COUNT(*) FROM artists`) == "1"
	})
	other, err := New(r.box.Store, r.coalescer, r.bus.Publisher(), Config{})
	require.NoError(t, err)
	if v, err := other.Get(t.Context(), "3"); err != nil || v.Freshness != Updating || v.EstimatedWaitMs != nil {
		t.Errorf("in another process: %+v, %v", v, err)
	}
	r.consumes(t)
	eventually(t, "it is fresh", func() bool { return r.get(t, "3").Freshness == Fresh })
	v := r.get(t, "3")
	if level(v) != "9" || v.UpdateQueued || v.EstimatedWaitMs != nil || v.LastUpdatedAt == nil || v.LastCheckedAt == nil {
		t.Errorf("afterwards: %+v", v)
	}
	var got map[string]any
	if err := json.Unmarshal(v.Snapshot, &got); err != nil || got["name"] != "Artist 3" || got["attributes"] == nil || got["history"] != nil {
		t.Errorf("the snapshot is %s (%v)", v.Snapshot, err)
	}
	if n := r.upstream.asked("3"); n != 1 {
		t.Errorf("fetched %d times", n)
	}
}

// stuck is a publisher that blocks until it is released.
type stuck struct {
	message.Publisher
	gate    chan struct{}
	entered chan struct{}
}

func (s *stuck) Publish(topic string, all ...*message.Message) error {
	s.entered <- struct{}{}
	<-s.gate
	return s.Publisher.Publish(topic, all...)
}

// While the broker is slow for each event, reads are answered: known artists from the
// database, and unknown ones at once. Questions that the queue has no room for are
// stored, and asked when the broker accepts them.
func TestReadsWhileBrokerSlow(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{})
	r.upstream.has(t, "here", 2)
	require.NoError(t, r.refresh(t, request(t, "here", event.High, 1)))
	r.age(t, "here", 2*time.Hour)
	broker := &stuck{Publisher: r.bus.Publisher(), gate: make(chan struct{}), entered: make(chan struct{}, 1000)}
	m, err := New(r.box.Store, r.coalescer, broker, Config{Queue: 8, Askers: 2, ReadTimeout: time.Minute, Logger: quiet})
	require.NoError(t, err)
	start(t, "mirror", m.Run)
	t.Cleanup(sync.OnceFunc(func() { // before the mirror is stopped
		select {
		case <-broker.gate:
		default:
			close(broker.gate)
		}
	}))
	if v, err := m.Get(t.Context(), "here"); err != nil || v.Freshness != Stale || !v.UpdateQueued {
		t.Fatalf("the first read: %s, queued %v, %v", v.Freshness, v.UpdateQueued, err)
	}
	// The broker accepts nothing before all reads have been answered: a read that waited
	// for it would never end.
	var reads sync.WaitGroup
	for i := range 100 {
		reads.Go(func() {
			v, err := m.Get(t.Context(), "here")
			if err != nil || v.Freshness != Stale || level(v) != "2" || !v.UpdateQueued {
				t.Errorf("of what is here: %s, queued %v, %v", v.Freshness, v.UpdateQueued, err)
			}
		})
		reads.Go(func() {
			if v, err := m.Get(t.Context(), fmt.Sprint("new-", i)); err != nil || v.Freshness != NotFound {
				t.Errorf("of what is not: %s, %v", v.Freshness, err)
			}
		})
	}
	reads.Wait()
	<-broker.entered
	<-broker.entered
	eventually(t, "what has no room is written down", func() bool { return m.Stats().Waiting <= 8+2 })
	if s := m.Stats(); s.Dropped != 0 || s.Deferred < 100+1-10 || s.Asked != 0 {
		t.Errorf("%d were dropped and %d deferred, want none and at least 91 of 101", s.Dropped, s.Deferred)
	}
	close(broker.gate)
	eventually(t, "all are asked for", func() bool {
		return m.Stats().Waiting == 0 && r.box.Query(t, `SELECT COUNT(*) FROM artist_asks`) == "0"
	})
	assert.EqualValues(t, 100+1, r.coalescer.Stats().Published, "requests were published")
}

// Without the coalescer's store reads are served from the database, and promise no
// refresh.
func TestReadsWhileRedisDown(t *testing.T) {
	r := newRig(t, Config{HighLag: func() (int64, bool) { return 70, true }}, WorkerConfig{})
	r.upstream.has(t, "1", 5)
	require.NoError(t, r.refresh(t, request(t, "1", event.High, 1)))
	if v := r.get(t, "1"); v.Freshness != Fresh {
		t.Fatalf("%+v", v)
	}
	r.locks.set(true)
	r.runs(t)
	r.age(t, "1", 2*time.Hour)
	r.get(t, "1") // finds it out, in the background
	eventually(t, "the refusal is known", func() bool { return r.mirror.Stats().Away })
	for _, id := range []string{"1", "2"} {
		v := r.get(t, id)
		if v.UpdateQueued || v.EstimatedWaitMs != nil {
			t.Errorf("%s: %+v", id, v)
		}
		assert.Equalf(t, map[string]Freshness{"1": Stale, "2": NotFound}[id], v.Freshness, "%s is %s", id, v.Freshness)
	}
	if v := r.get(t, "1"); level(v) != "5" {
		t.Errorf("served %s", v.Snapshot)
	}
	eventually(t, "both are written down", func() bool { return r.box.Query(t, `SELECT COUNT(*) FROM artist_asks`) == "2" })
	if v := r.get(t, "2"); v.Freshness != NotFound || v.UpdateQueued {
		t.Errorf("while nothing can be asked: %+v", v)
	}
	// After the outage the promise returns, without a restart.
	r.locks.set(false)
	eventually(t, "refreshes are queued again", func() bool { return r.get(t, "1").UpdateQueued })
	if v := r.get(t, "1"); v.EstimatedWaitMs == nil || *v.EstimatedWaitMs != 700 {
		t.Errorf("%+v", v)
	}
}

// A thousand reads of one artist in two processes: one event.
func TestHerdPublishesOnce(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{})
	other, err := New(r.box.Store, r.coalescer, r.bus.Publisher(), Config{ReadTimeout: time.Minute, Logger: quiet})
	require.NoError(t, err)
	published := r.on(t, TopicHigh, "watcher")
	r.runs(t)
	start(t, "other mirror", other.Run)
	var reads sync.WaitGroup
	for range 500 {
		for _, m := range []*Mirror{r.mirror, other} {
			reads.Go(func() {
				_, err := m.Get(t.Context(), "1")
				assert.NoError(t, err)
			})
		}
	}
	reads.Wait()
	e, err := event.Decode(next(t, published))
	if err != nil || e.Type != UpdateRequest || e.Priority != event.High || e.Key() != "1" || e.Sequence == 0 {
		t.Errorf("published %+v, %v", e, err)
	}
	var q Request
	if err := e.UnmarshalData(&q); err != nil || q.CharacterID != "1" || q.Reason != CacheMiss || q.SchemaVersion != "1.1" || q.Version != int64(e.Sequence) || q.Priority != event.High {
		t.Errorf("asked for %+v, %v", q, err)
	}
	eventually(t, "all were answered", func() bool { return r.mirror.Stats().Waiting+other.Stats().Waiting == 0 })
	if s := r.coalescer.Stats(); s.Published != 1 {
		t.Errorf("published %d times", s.Published)
	}
}

// A failed publish gives the lock back: the next read publishes.
func TestFailedPublishIsAskedAgain(t *testing.T) {
	r := newRig(t, Config{AskedFor: time.Nanosecond}, WorkerConfig{})
	var mu sync.Mutex
	fails := 1
	flaky := publisherFunc(func(topic string, all ...*message.Message) error {
		mu.Lock()
		defer mu.Unlock()
		if fails > 0 {
			fails--
			return errors.New("no broker")
		}
		return r.bus.Publisher().Publish(topic, all...)
	})
	m, err := New(r.box.Store, r.coalescer, flaky, Config{ReadTimeout: time.Minute, Logger: quiet})
	require.NoError(t, err)
	published := r.on(t, TopicHigh, "watcher")
	start(t, "mirror", m.Run)
	read := func() {
		_, err := m.Get(t.Context(), "1")
		require.NoError(t, err)
	}
	read()
	eventually(t, "it was refused", func() bool { return m.Stats().Refused == 1 })
	read()
	next(t, published)
}

type publisherFunc func(topic string, all ...*message.Message) error

func (f publisherFunc) Publish(topic string, all ...*message.Message) error { return f(topic, all...) }
func (publisherFunc) Close() error                                          { return nil }

func TestReadFails(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{})
	for _, id := range []string{"", "a b", "../x", "1'", fmt.Sprintf("%065d", 1)} {
		if _, err := r.mirror.Get(t.Context(), id); !errors.Is(err, ErrBadID) {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := r.mirror.Refresh(t.Context(), id); !errors.Is(err, ErrBadID) {
			t.Errorf("a refresh of %q: %v", id, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.mirror.Get(ctx, "1"); !errors.Is(err, context.Canceled) {
		t.Errorf("after the reader went: %v", err)
	}
	assert.Equal(t, 0, r.mirror.Stats().Waiting, "refreshes are queued")
}

// Reads are noted in the background, and not each of them; the last ones at the end.
func TestTouches(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{})
	r.upstream.has(t, "1", 5)
	require.NoError(t, r.refresh(t, request(t, "1", event.High, 1)))
	if r.get(t, "1"); len(r.mirror.touches.take()) != 0 {
		t.Error("noted twice within TouchEvery")
	}
	r.box.Exec(t, `UPDATE artists SET last_requested_at = 1`)
	r.get(t, "1")
	ended, end := context.WithCancel(t.Context())
	end()
	require.NoError(t, r.mirror.Run(ended))
	assert.Equal(t, "1", r.box.Query(t, `SELECT COUNT(*) FROM artists WHERE last_requested_at > 1`), "a read was not noted")
}
