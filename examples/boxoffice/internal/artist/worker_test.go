package artist

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/fault"
)

// quick retries without waiting.
var quick = bus.RetryPolicy{MaxRetries: 3, Backoff: bus.Backoff{Initial: time.Millisecond, Max: time.Millisecond}, Probe: bus.Backoff{Initial: 5 * time.Millisecond, Max: 5 * time.Millisecond}}

// An artist that cannot be fetched is a dead letter with its reason, and affects no
// other; it is not asked for again for a while, and a success clears that.
func TestPoisonArtist(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{Retry: quick})
	letters := r.on(t, DeadLetters, "watcher")
	r.upstream.has(t, "good", 1)
	r.upstream.put("bad", func() (Document, error) { return Document{}, refusal(400) })
	r.upstream.put("down", func() (Document, error) { return Document{}, refusal(502) })
	r.upstream.put("odd", func() (Document, error) {
		return Document{}, &Failure{Reason: ParseError, err: fault.MarkPermanent(errors.New("no JSON"))}
	})
	r.consumes(t)
	ids := []string{"bad", "down", "odd", "404"}
	for i, id := range append(ids, "good") {
		p := event.High
		if i%2 == 1 {
			p = event.Low
		}
		r.send(t, request(t, id, p, int64(i+1)))
	}
	got := map[string]string{}
	for range ids {
		m := next(t, letters)
		e, err := event.Decode(m)
		require.NoError(t, err)
		got[e.Key()] = m.Metadata[driver.DLQReason] + " " + m.Metadata[driver.DLQAttempts]
	}
	for id, want := range map[string]string{"bad": "API_4XX 1", "down": "API_5XX 4", "odd": "PARSE_ERROR 1", "404": "API_4XX 1"} {
		assert.Equalf(t, want, got[id], "%s", id)
	}
	if n := r.upstream.asked("down"); n != 4 {
		t.Errorf("asked %d times for what answers 502, want 4", n)
	}
	eventually(t, "the good one is there", func() bool { return r.get(t, "good").Freshness == Fresh })
	status := func(id string) string {
		return r.box.Query(t, `SELECT COALESCE(MAX(state || ' ' || last_error_code || ' ' || CAST(fail_count AS CHAR(3))), 'none') FROM update_status WHERE character_id = $1`, id)
	}
	for id, want := range map[string]string{"bad": "FAILED API_4XX 1", "odd": "FAILED PARSE_ERROR 1", "404": "FAILED API_4XX 1", "down": "FAILED API_5XX 4", "good": "none"} {
		eventually(t, id+" is "+want, func() bool { return status(id) == want })
	}
	for _, id := range ids {
		if v := r.get(t, id); v.Freshness != NotFound || v.UpdateQueued {
			t.Errorf("%s is left alone: %+v", id, v)
		}
	}
	// After its time the artist is asked for again, and now it works.
	r.box.Exec(t, `UPDATE update_status SET next_retry_at = 1 WHERE character_id = 'bad'`)
	if v := r.get(t, "bad"); v.Freshness != Updating || !v.UpdateQueued {
		t.Errorf("after its time: %+v", v)
	}
	r.upstream.has(t, "bad", 2)
	r.runs(t)
	eventually(t, "it is there", func() bool { return r.get(t, "bad").Freshness == Fresh })
	if s := status("bad"); s != "none" {
		t.Errorf("update_status says %s after a success", s)
	}
	// A malformed request is a dead letter, too.
	e, err := event.New(UpdateRequest, "/elsewhere", map[string]any{"characterId": "no id"})
	require.NoError(t, err)
	e.Priority = event.High
	r.send(t, e)
	assert.Equal(t, ParseError, next(t, letters).Metadata[driver.DLQReason], "what is no request")
}

// A database that takes ten seconds: the breaker opens, nothing is acknowledged, no
// budget is spent on results that could not be written, and after the outage all is
// done.
func TestSlowDatabase(t *testing.T) {
	s := boxtest.New(t).Store
	synctest.Test(t, func(t *testing.T) {
		r := &rig{}
		r.assemble(t, s, Config{}, WorkerConfig{HighBatch: 5, HighBatches: 4, Retry: bus.RetryPolicy{MaxRetries: -1}})
		var slow atomic.Bool
		var begun, written, given atomic.Int64
		slow.Store(true)
		answer := func(ctx context.Context) error {
			begun.Add(1)
			if !slow.Load() {
				return nil
			}
			select {
			case <-ctx.Done():
				given.Add(1)
				return errors.New("driver: canceling statement")
			case <-time.After(10 * time.Second):
				return nil
			}
		}
		r.worker.hashes = func(ctx context.Context, ids []string) (map[string]string, error) {
			return nil, nil // reading is quick
		}
		r.worker.inTx = func(ctx context.Context, _ func(context.Context, *sql.Tx) error) error {
			if err := answer(ctx); err != nil {
				return err
			}
			written.Add(1)
			return nil
		}
		for i := range 40 {
			id := fmt.Sprint(i)
			r.upstream.has(t, id, 1)
			r.send(t, request(t, id, event.High, int64(i+1)))
		}
		runner := r.consumes(t)
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, 40, r.lag(t, TopicHigh, GroupHigh), "of 40 are unacknowledged at the beginning")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if state := r.worker.guard.state(); state != 2 {
			t.Errorf("the breaker's state is %d after %d slow writes, want 2 (open)", state, given.Load())
		}
		if st := runner.Status()[0]; !st.Paused || st.DeadLettered != 0 {
			t.Errorf("the consumer: %+v", st)
		}
		// For two minutes only probes come through, and none of them reaches the upstream
		// while the breaker is open.
		before := r.upstream.total()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		assert.Equal(t, 40, r.lag(t, TopicHigh, GroupHigh), "of 40 are unacknowledged while the database is slow")
		if n := r.upstream.total() - before; n > 10 {
			t.Errorf("%d calls of the upstream for nothing in two minutes", n)
		}
		if n := r.mirror.Stats().Errors[NoStorage]; n < 20 {
			t.Errorf("%d counted as %s, want at least the first batches' 20", n, NoStorage)
		}
		slow.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, 0, r.lag(t, TopicHigh, GroupHigh), "are still unacknowledged")
		if st := runner.Status()[0]; !st.Running || st.Paused || st.Held || st.DeadLettered != 0 || st.Handled != 40 {
			t.Errorf("the consumer afterwards: %+v", st)
		}
		if r.worker.guard.state() != 0 || written.Load() == 0 {
			t.Errorf("the breaker's state is %d, %d writes", r.worker.guard.state(), written.Load())
		}
	})
}

func (r *rig) lag(t testing.TB, topic, group string) int {
	t.Helper()
	all, err := r.bus.Lag(t.Context())
	require.NoError(t, err)
	for _, l := range all {
		if l.Topic == topic && l.Group == group {
			return l.Messages
		}
	}
	t.Fatalf("no group %s of %s", group, topic)
	return 0
}

func (s *shelf) total() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, calls := range s.calls {
		n += calls
	}
	return n
}

// A lock held elsewhere makes the real database slow: the write ends after its
// timeout, as an infrastructure failure, and has changed nothing.
func TestWriteGivesUp(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{})
	r.upstream.has(t, "1", 1)
	require.NoError(t, r.refresh(t, request(t, "1", event.High, 1)))
	tx, err := r.box.Store.DB().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), `UPDATE artists SET level = 77 WHERE artist_id = '1'`)
	require.NoError(t, err)
	r.upstream.has(t, "1", 2)
	patience := r.worker.guard.timeout
	r.worker.guard.timeout = 200 * time.Millisecond
	err = r.refresh(t, request(t, "1", event.High, 2))
	r.worker.guard.timeout = patience
	assert.Equalf(t, fault.Infrastructure, fault.Of(err), "a write behind a lock: %v", err)
	require.NoError(t, tx.Rollback())
	if v := r.get(t, "1"); level(v) != "1" {
		t.Errorf("it was written after all: %s", v.Snapshot)
	}
	require.NoError(t, r.refresh(t, request(t, "1", event.High, 2)))
	if v := r.get(t, "1"); level(v) != "2" {
		t.Errorf("afterwards: %s", v.Snapshot)
	}
}

// During an outage of the budget's store the consumer pauses, and no request becomes
// a dead letter.
func TestBudgetAway(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{Retry: quick})
	d := document(t, "1", 1)
	var away atomic.Bool
	away.Store(true)
	tried := make(chan struct{}, 1000)
	r.upstream.put("1", func() (Document, error) {
		select {
		case tried <- struct{}{}:
		default:
		}
		if away.Load() {
			return Document{}, &Failure{Reason: NoBudget, err: fault.MarkInfrastructure(errors.New("redis is away"))}
		}
		return d, nil
	})
	runner := r.consumes(t)
	r.send(t, request(t, "1", event.High, 1))
	for range 6 { // more than there are retries
		<-tried
	}
	if st := runner.Status()[0]; st.DeadLettered != 0 || st.Handled != 0 {
		t.Errorf("%+v", st)
	}
	if n := r.box.Query(t, `SELECT COUNT(*) FROM update_status`); n != "0" {
		t.Errorf("our own trouble left %s rows in update_status", n)
	}
	away.Store(false)
	eventually(t, "it is done", func() bool { return runner.Status()[0].Handled == 1 })
}

// A high request upgrades a low one that waits: the low one is skipped.
func TestPriorityInversion(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{})
	r.upstream.has(t, "1", 1)
	_, err := r.mirror.request(t.Context(), "1", event.Low, Prefetched)
	require.NoError(t, err)
	_, err = r.mirror.request(t.Context(), "1", event.High, TooOld)
	require.NoError(t, err)
	if s := r.coalescer.Stats(); s.Published != 1 || s.Upgraded != 1 {
		t.Fatalf("%+v", s)
	}
	runner := r.consumes(t)
	eventually(t, "both are acknowledged", func() bool {
		return r.lag(t, TopicHigh, GroupHigh)+r.lag(t, TopicLow, GroupLow) == 0
	})
	if st := runner.Status(); st[0].Handled != 1 || st[1].Handled != 0 || st[1].Obsolete != 1 {
		t.Errorf("high %+v, low %+v", st[0], st[1])
	}
	if n := r.upstream.asked("1"); n != 1 {
		t.Errorf("fetched %d times", n)
	}
	if s := r.mirror.Stats(); s.Obsolete != 1 || s.Changed != 1 {
		t.Errorf("%+v", s)
	}
	// The run is over: the next request begins another.
	_, err = r.mirror.request(t.Context(), "1", event.High, TooOld)
	require.NoError(t, err)
	if s := r.coalescer.Stats(); s.Published != 2 {
		t.Errorf("published %d times, want 2", s.Published)
	}
}
