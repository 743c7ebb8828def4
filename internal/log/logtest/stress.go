package logtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/sqltx"
)

// stress has writers that change aggregates and append an entry for each change, some of them
// rolling back, while a reader follows behind its cursor and is replaced by another from time to
// time. Every committed entry must be read exactly once, and those of an aggregate in the order
// of its versions.
func stress(ctx context.Context, f *Fixture) error { return underStress(ctx, f, cursor) }

// twoConsumers is stress with two consumers of one lane: each reads everything.
func twoConsumers(ctx context.Context, f *Fixture) error {
	return underStress(ctx, f, cursor, log.Cursor{Consumer: "other", Lane: cursor.Lane})
}

func underStress(ctx context.Context, f *Fixture, cursors ...log.Cursor) (err error) {
	defer steps.End(&err)
	const writers, rounds, aggregates = 6, 40, 5
	steps.Get(f.DB.ExecContext(ctx, `CREATE TABLE suite_aggregates (id integer PRIMARY KEY, version integer NOT NULL)`))
	for id := range aggregates {
		steps.Get(f.DB.ExecContext(ctx, fmt.Sprintf(`INSERT INTO suite_aggregates VALUES (%d, 0)`, id)))
	}
	var committed atomic.Int64
	var failed error
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range rounds {
				n, err := change(ctx, f, rand.IntN(aggregates))
				committed.Add(int64(n))
				if err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()

	errs := make([]error, len(cursors))
	var followers sync.WaitGroup
	for i, c := range cursors {
		followers.Go(func() { errs[i] = follow(ctx, f, c, done, &committed) })
	}
	followers.Wait()
	<-done
	return errors.Join(append(errs, failed)...)
}

var errRollback = errors.New("roll back")

// change raises an aggregate's version up to three times and appends an entry for each, in one
// transaction. It returns the number of committed entries.
func change(ctx context.Context, f *Fixture, id int) (n int, err error) {
	n = 1 + rand.IntN(3)
	err = sqltx.Do(ctx, f.DB, func(ctx context.Context, tx *sql.Tx) error {
		for range n {
			// The row's lock comes first: it determines the order.
			if _, err := tx.ExecContext(ctx, fmt.Sprintf(`UPDATE suite_aggregates SET version = version + 1 WHERE id = %d`, id)); err != nil {
				return err
			}
			var version int
			if err := tx.QueryRowContext(ctx, fmt.Sprintf(`SELECT version FROM suite_aggregates WHERE id = %d`, id)).Scan(&version); err != nil {
				return err
			}
			e := entry(1, fmt.Sprintf("%d %d", id, version))
			if err := f.Log.Append(ctx, tx, []log.Entry{e}); err != nil {
				return err
			}
		}
		if rand.IntN(5) == 0 {
			return errRollback
		}
		return nil
	})
	if err == nil {
		return n, nil
	}
	if errors.Is(err, errRollback) {
		return 0, nil
	}
	return 0, err
}

// follow reads until the writers are done and every entry is read.
func follow(ctx context.Context, f *Fixture, cursor log.Cursor, done <-chan struct{}, committed *atomic.Int64) (err error) {
	defer steps.End(&err)
	versions := map[int]int{}
	read := int64(0)
	for holder := 0; ; holder++ {
		l := steps.Get(f.Log.Lease(ctx, cursor, fmt.Sprint("reader ", holder), long))
		at := l.Position
		for range 5 {
			finished := false
			select {
			case <-done:
				finished = true
			default:
			}
			page, next := steps.Two(f.Log.Read(ctx, cursor.Lane, at, 1+rand.IntN(20)))
			for _, e := range page {
				var id, version int
				steps.Get(fmt.Sscan(e.MessageID, &id, &version))
				if version != versions[id]+1 {
					return fmt.Errorf("aggregate %d: version %d was read after %d", id, version, versions[id])
				}
				versions[id] = version
			}
			read, at = read+int64(len(page)), next
			steps.Do(f.Log.Advance(ctx, l, at, long))
			l.Position = at
			if len(page) > 0 {
				continue
			}
			if finished {
				if read != committed.Load() {
					return fmt.Errorf("read %d entries of %d committed", read, committed.Load())
				}
				return nil
			}
			select {
			case <-done:
			case <-time.After(time.Millisecond):
			}
		}
		steps.Do(f.Log.Release(ctx, l))
	}
}
