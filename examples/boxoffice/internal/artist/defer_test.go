package artist

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// broker is a publisher that keeps the published messages, and can refuse.
type broker struct {
	away atomic.Bool
	// before, if set, is called before a message is taken.
	before func()

	mu  sync.Mutex
	got map[string]int    // by artist
	of  map[string]string // whose request the last one came of, by artist
}

func (b *broker) Publish(_ string, all ...*message.Message) error {
	if b.away.Load() {
		return errors.New("no broker")
	}
	if b.before != nil {
		b.before()
	}
	for _, m := range all {
		e, err := event.Decode(m)
		if err != nil {
			return err
		}
		b.mu.Lock()
		if b.got == nil {
			b.got, b.of = map[string]int{}, map[string]string{}
		}
		b.got[e.Key()]++
		b.of[e.Key()] = e.CorrelationID
		b.mu.Unlock()
	}
	return nil
}

func (*broker) Close() error { return nil }

func (b *broker) has(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.got[id] > 0
}

func (b *broker) artists() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.got)
}

// before makes a mirror that publishes to a broker of its own.
func (r *rig) before(t testing.TB, b message.Publisher, cfg Config) *Mirror {
	t.Helper()
	cfg.ReadTimeout, cfg.Logger = time.Minute, quiet
	m, err := New(r.box.Store, r.coalescer, b, cfg)
	require.NoError(t, err)
	return m
}

// A hundred thousand artists are read for the first time, at once: each is asked for,
// without a second read, and memory stays within its bounds. Fewer with the race detector
// and on servers, where all of them take minutes; they exceed the memory too.
func TestNoFirstReadIsLost(t *testing.T) {
	const readers = 1_000
	artists := 100_000
	if raced || os.Getenv("BOXOFFICE_TEST_DB") != "" {
		artists = 12_000
	}
	r, b := newRig(t, Config{}, WorkerConfig{}), &broker{}
	m := r.before(t, b, Config{})
	start(t, "mirror", m.Run)
	var next, most atomic.Int64
	var reads sync.WaitGroup
	for range readers {
		reads.Go(func() {
			for i := next.Add(1); i <= int64(artists); i = next.Add(1) {
				v, err := m.Get(t.Context(), fmt.Sprint(i))
				if err != nil || v.Freshness != NotFound || !v.UpdateQueued {
					t.Errorf("artist %d: %s, queued %v, %v", i, v.Freshness, v.UpdateQueued, err)
					return
				}
				if i%1000 == 0 {
					most.Store(max(most.Load(), int64(m.Stats().Waiting)))
				}
			}
		})
	}
	reads.Wait()
	eventually(t, "all are asked for", func() bool { return b.artists() == artists })
	s := m.Stats()
	if limit := int64(m.cfg.Queue + m.cfg.Deferred + m.cfg.Askers); most.Load() > limit || s.Dropped != 0 {
		t.Errorf("%d waited in memory, want at most %d; %d were dropped", most.Load(), limit, s.Dropped)
	}
	eventually(t, "none waits", func() bool {
		return m.Stats().Waiting == 0 && r.box.Query(t, `SELECT COUNT(*) FROM artist_asks`) == "0"
	})
	t.Logf("%d asked for from memory and the database, %d of them written down before", m.Stats().Asked, m.Stats().Deferred)
}

// During any failure of broker and coalescer: a read says UPDATING only of an artist whose
// refresh is published, or waits in memory or in the database; and after the failure all
// wanted refreshes are published, without another read.
func TestUpdatingIsTrue(t *testing.T) {
	r, b := newRig(t, Config{}, WorkerConfig{}), &broker{}
	// A queue as small as this one is full all the time.
	m := r.before(t, b, Config{Queue: 2, Deferred: 4, Askers: 2, AskedFor: time.Nanosecond})
	var ids []string
	look := func(from, to int) {
		var reads sync.WaitGroup
		for i := from; i < to; i++ {
			id := fmt.Sprint(i)
			ids = append(ids, id)
			reads.Go(func() {
				for range 3 {
					v, err := m.Get(t.Context(), id)
					assert.NoError(t, err)
					if v.Freshness != Updating && !(v.Freshness == NotFound && !v.UpdateQueued) {
						continue
					}
					waits := m.asks.knows(id) || r.box.Query(t, `SELECT COUNT(*) FROM artist_asks WHERE artist_id = $1`, id) == "1" || b.has(id)
					if v.Freshness == Updating && (!v.UpdateQueued || !waits) {
						t.Errorf("artist %s is UPDATING, queued %v, and a refresh waits: %v", id, v.UpdateQueued, waits)
					}
				}
			})
		}
		reads.Wait()
	}
	start(t, "mirror", m.Run)
	look(0, 50)
	b.away.Store(true)
	look(50, 100)
	eventually(t, "the refusal is known", func() bool { return m.Stats().Away })
	r.locks.set(true)
	look(100, 150)
	for _, id := range ids[100:] { // noted by now, and without a promise
		if v, err := m.Get(t.Context(), id); err != nil || v.Freshness != NotFound || v.UpdateQueued {
			t.Fatalf("while nothing can be asked, artist %s: %+v, %v", id, v, err)
		}
	}
	r.locks.set(false)
	b.away.Store(false)
	eventually(t, "all were asked for", func() bool { return b.artists() == 150 })
	eventually(t, "none waits", func() bool { return r.box.Query(t, `SELECT COUNT(*) FROM artist_asks`) == "0" })
	assert.EqualValues(t, 0, m.Stats().Dropped, "were dropped")
}

// A read whose refresh has no place anywhere promises nothing.
func TestFullPromisesNothing(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{})
	m, err := New(r.box.Store, r.coalescer, &broker{}, Config{Queue: 1, Deferred: 1, ReadTimeout: 50 * time.Millisecond, Logger: quiet})
	require.NoError(t, err)
	r.box.Exec(t, `INSERT INTO artists (artist_id, last_requested_at) VALUES ('3', now_ms())`)
	for _, id := range []string{"1", "2"} {
		if queued, full := m.asks.offer(ask{id: id}); !queued || full != nil {
			t.Fatalf("%s: %v", id, queued)
		}
	}
	// The mirror does not run, so there is never room. The row records the question, and no
	// answer promises a refresh.
	v, err := m.Get(t.Context(), "3")
	if err != nil || v.Freshness != NotFound || v.UpdateQueued || m.Stats().Dropped != 1 {
		t.Errorf("%+v, %v; %d dropped", v, err, m.Stats().Dropped)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if m.queue(ctx, ask{id: "4"}) || m.Stats().Dropped != 2 {
		t.Errorf("after its reader went; %d dropped", m.Stats().Dropped)
	}
}

// Questions that are queued when a process ends are asked by the next one.
func TestQueuedOutlivesProcess(t *testing.T) {
	r, b := newRig(t, Config{}, WorkerConfig{}), &broker{}
	first := r.before(t, b, Config{Queue: 20, Askers: 1, Holder: "first"})
	for i := range 30 {
		if queued, full := first.asks.offer(ask{id: fmt.Sprint(i), reason: CacheMiss, unknown: true}); !queued || full != nil {
			t.Fatal(i, queued)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	require.NoError(t, first.Run(ended))
	assert.Equal(t, 0, first.Stats().Waiting, "wait in a process that has ended")
	next := r.before(t, b, Config{Holder: "next"})
	start(t, "mirror", next.Run)
	eventually(t, "all are asked for", func() bool { return b.artists() == 30 })
}

// A refused request may have left the lock without a publisher, so the ask is done when it
// was published, or its artist was checked or has failed, and not when the coalescer
// reports a request in flight.
func TestDeferredUntilPublished(t *testing.T) {
	r, b := newRig(t, Config{}, WorkerConfig{}), &broker{}
	m := r.before(t, b, Config{})
	for _, id := range []string{"locked", "checked", "failed", "free"} {
		_, err := m.Refresh(event.WithCorrelation(t.Context(), "request-"+id), id)
		require.NoError(t, err)
	}
	// The state after a request whose answer was lost, or whose process died.
	d, err := r.coalescer.Request(t.Context(), "locked", coalesce.High)
	if err != nil || !d.Mine() {
		t.Fatal(d, err)
	}
	r.box.Exec(t, `UPDATE artists SET last_checked_at = now_ms() WHERE artist_id = 'checked'`)
	r.box.Exec(t, `INSERT INTO update_status (character_id, state, fail_count, last_error_code, last_error_message, next_retry_at, created_at, updated_at)
		VALUES ('failed', 'FAILED', 1, 'API_4XX', 'no', now_ms() + 60000, now_ms(), now_ms())`)
	repeat := func() {
		t.Helper()
		job := r.box.Store.NewJob(asksLease, "test", time.Minute, quiet)
		_, err := m.deferrals.repeatDue(t.Context(), job)
		require.NoError(t, err)
		job.GiveBack(t.Context())
	}
	repeat()
	if b.artists() != 1 || !b.has("free") || b.of["free"] != "request-free" {
		t.Errorf("published for %v of %v, want free of request-free", b.got, b.of)
	}
	assert.Equal(t, "locked", r.box.Query(t, `SELECT MAX(artist_id) FROM artist_asks`), "is still to be asked, want locked")
	repeat() // not yet
	assert.False(t, b.has("locked"), "asked again before the lock can have expired")
	if released, err := r.coalescer.Release(t.Context(), "locked", coalesce.High, d.Ticket.Version); err != nil || !released {
		t.Fatal(released, err)
	}
	r.box.Exec(t, `UPDATE artist_asks SET due_at = now_ms()`) // half a minute later
	repeat()
	if n := r.box.Query(t, `SELECT COUNT(*) FROM artist_asks`); !b.has("locked") || n != "0" {
		t.Errorf("after the lock has expired: published %v, %s are still to be asked", b.has("locked"), n)
	}
}

// A wish that comes while others are asked for does not go with the one before it, which a check
// has answered.
func TestRefreshWhileAsking(t *testing.T) {
	r, b := newRig(t, Config{}, WorkerConfig{}), &broker{}
	m := r.before(t, b, Config{})
	wish := func(id string) {
		_, err := m.Refresh(t.Context(), id)
		assert.NoError(t, err)
	}
	wish("1")
	wish("2")
	r.box.Exec(t, `UPDATE artist_asks SET asked_at = asked_at - 60000`)
	r.box.Exec(t, `UPDATE artists SET last_checked_at = now_ms() - 30000 WHERE artist_id = '1'`)
	b.before = func() { wish("1") }
	_, err := m.deferrals.repeatDue(t.Context(), r.box.Store.NewJob(asksLease, "test", time.Minute, quiet))
	require.NoError(t, err)
	assert.True(t, b.has("2"))
	assert.Equal(t, "1", r.box.Query(t, `SELECT MAX(artist_id) FROM artist_asks`), "is to be asked for")
}

// A process whose lease has ended while there was nothing to ask, and went to another, asks
// nothing.
func TestOneProcessRepeats(t *testing.T) {
	r, b := newRig(t, Config{}, WorkerConfig{}), &broker{}
	m := r.before(t, b, Config{})
	job := r.box.Store.NewJob(asksLease, "test", time.Minute, quiet)
	_, err := job.Take(t.Context())
	require.NoError(t, err)
	r.box.Exec(t, `UPDATE leases SET expires_at = 1`)
	_, err = r.box.Store.TakeLease(t.Context(), asksLease, "another", time.Minute)
	require.NoError(t, err)
	_, err = m.Refresh(t.Context(), "1")
	require.NoError(t, err)
	_, err = m.deferrals.repeatDue(t.Context(), job)
	require.ErrorIs(t, err, store.ErrLeaseHeld)
	assert.Equal(t, 0, b.artists(), "asked for")
}

// A wish to refresh is stored before it is answered, once for all members that have it, and
// refused for an artist that cannot be refreshed.
func TestRefresh(t *testing.T) {
	r, b := newRig(t, Config{}, WorkerConfig{}), &broker{}
	m := r.before(t, b, Config{HighLag: func() (int64, bool) { return 300, true }})
	r.upstream.has(t, "1", 5)
	require.Error(t, r.refresh(t, request(t, "1", event.High, 1), request(t, "404", event.High, 1)), "404 was refreshed")
	if out, err := m.Refresh(t.Context(), "1"); err != nil || out.Status != RefreshChecked || out.LastCheckedAt == nil || out.EstimatedWaitMs != nil {
		t.Errorf("checked a moment ago: %+v, %v", out, err)
	}
	if _, err := m.Refresh(t.Context(), "404"); !errors.Is(err, ErrUnknown) {
		t.Errorf("what the upstream does not have: %v", err)
	}
	r.age(t, "1", time.Minute) // it is FRESH, and may be refreshed all the same
	for range 3 {
		out, err := m.Refresh(t.Context(), "1")
		if err != nil || out.Status != RefreshQueued || out.EstimatedWaitMs == nil || *out.EstimatedWaitMs != 3000 {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	assert.Equal(t, "1", r.box.Query(t, `SELECT COUNT(*) FROM artist_asks WHERE artist_id = '1' AND reason = 'USER_REQUEST'`), "wishes are stored")
	// A check since then has answered the stored wish, and not the next one.
	r.box.Exec(t, `UPDATE artist_asks SET asked_at = 1, due_at = now_ms() + 30000`)
	_, err := m.Refresh(t.Context(), "1")
	require.NoError(t, err)
	if due, needless, _, err := m.deferrals.due(t.Context()); err != nil || len(due) != 1 || len(needless) != 0 {
		t.Errorf("after a wish that was answered: to be asked %v, needless %v, %v", due, needless, err)
	}
	r.box.Exec(t, `INSERT INTO update_status (character_id, state, fail_count, last_error_code, last_error_message, next_retry_at, created_at, updated_at)
		VALUES ('9', 'FAILED', 1, 'API_4XX', 'no', now_ms() + 60000, 1, 1)`)
	r.box.Exec(t, `INSERT INTO artists (artist_id, last_requested_at) VALUES ('9', now_ms())`)
	var resting *RestingError
	if _, err := m.Refresh(t.Context(), "9"); !errors.As(err, &resting) || resting.For < 30*time.Second || resting.For > time.Minute {
		t.Errorf("one that has just failed: %v", err)
	}
	// During an outage of the broker the wish is stored, asked for later, and answered so.
	b.away.Store(true)
	start(t, "mirror", m.Run)
	eventually(t, "the refusal is known", func() bool { return m.Stats().Away })
	if out, err := m.Refresh(t.Context(), "2"); err != nil || out.Status != RefreshWaiting || out.EstimatedWaitMs != nil {
		t.Errorf("while the broker is away: %+v, %v", out, err)
	}
	b.away.Store(false)
	eventually(t, "both are asked for", func() bool { return b.has("1") && b.has("2") })
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.got["1"] != 1 {
		t.Errorf("asked for %d times", b.got["1"])
	}
}
