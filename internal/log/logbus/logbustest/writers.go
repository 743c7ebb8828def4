package logbustest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/sourcetest"
	"github.com/millrace-go/millrace/sqltx"
)

// Writers configures ConcurrentWriters.
type Writers struct {
	Writers  int
	Keys     int
	Messages int           // that are committed
	Rate     int           // transactions a second in total; 0 is unlimited
	Hold     time.Duration // a transaction stays open for up to this after it published
}

// ConcurrentWriters has writers that lock a key's row, publish the next number of the key in the
// same transaction, wait and commit; a tenth of them roll back. A group reads meanwhile: every
// number of a key must arrive once, in order.
func ConcurrentWriters(t *testing.T, tr Transport, w Writers) {
	url := tr.URL(t)
	db := tr.App(t, url, w.Writers+4)
	must(t, db, `CREATE TABLE numbers (k INTEGER PRIMARY KEY, n INTEGER NOT NULL)`)
	for k := range w.Keys {
		must(t, db, fmt.Sprintf(`INSERT INTO numbers VALUES (%d, 0)`, k))
	}
	b := tr.Open(t, url, Settings{DB: db})
	reader := tr.Open(t, url, Settings{})
	ch := sourcetest.Subscribe(t, reader, "group", "topic", 256)

	var committed atomic.Int64
	var wg sync.WaitGroup
	started := time.Now()
	stop := errors.New("roll back")
	for i := range w.Writers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 42))
			for turn := 0; committed.Load() < int64(w.Messages); turn++ {
				if w.Rate > 0 {
					due := started.Add(time.Duration(turn*w.Writers+i) * time.Second / time.Duration(w.Rate))
					<-time.After(time.Until(due))
				}
				err := number(t.Context(), db, random.IntN(w.Keys), func(ctx context.Context, key string, n int) error {
					m := Keyed(key, strconv.Itoa(n))
					m.SetContext(ctx)
					if err := b.Publisher().Publish("topic", m); err != nil {
						return err
					}
					if w.Hold > 0 {
						<-time.After(time.Duration(random.Int64N(int64(w.Hold))))
					}
					if random.IntN(10) == 0 {
						return stop
					}
					return nil
				})
				switch {
				case err == nil:
					committed.Add(1)
				case !errors.Is(err, stop):
					t.Errorf("writer %d: %v", i, err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()

	next := map[string]int{}
	read := int64(0)
	take := func() bool {
		select {
		case m := <-ch:
			key := event.Key(m)
			next[key]++
			if string(m.Payload) != strconv.Itoa(next[key]) {
				t.Errorf("key %s: got %s, want %d", key, m.Payload, next[key])
			}
			read++
			m.Ack()
			return true
		case <-time.After(20 * time.Second):
			return false
		}
	}
	written := false
	for !t.Failed() && (!written || read < committed.Load()) {
		select {
		case <-done:
			written, done = true, nil
		default:
			if written || read < committed.Load() {
				if !take() {
					t.Fatalf("%d of %d messages came: %d are lost", read, committed.Load(), committed.Load()-read)
				}
			} else {
				<-time.After(time.Millisecond)
			}
		}
	}
	wg.Wait()
	took := time.Since(started)
	t.Logf("%d writers, %d messages, %.0f/s: none lost, none twice, none out of its key's order",
		w.Writers, read, float64(read)/took.Seconds())
	var rows int
	if err := db.QueryRow(`SELECT SUM(n) FROM numbers`).Scan(&rows); err != nil || int64(rows) != read {
		t.Errorf("%d numbers were committed (%v), %d messages came", rows, err, read)
	}
}

// number increments a key in a transaction with fn.
func number(ctx context.Context, db *sql.DB, key int, fn func(ctx context.Context, key string, n int) error) error {
	return sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf(`UPDATE numbers SET n = n + 1 WHERE k = %d`, key)); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRowContext(ctx, fmt.Sprintf(`SELECT n FROM numbers WHERE k = %d`, key)).Scan(&n); err != nil {
			return err
		}
		return fn(ctx, strconv.Itoa(key), n)
	})
}
