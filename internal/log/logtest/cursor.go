package logtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/sqltx"
)

func cursorCases() []testCase {
	return []testCase{
		{Name: "AdvanceTogether", Run: advanceTogether},
		{Name: "AdvanceFails", Run: advanceFails},
		{Name: "Prune", Run: prune},
		{Name: "PruneAge", Run: pruneAge},
		{Name: "Backlog", Run: backlog},
	}
}

// work makes a table for the further work beside an Advance, and returns that work and a count
// of its rows.
func (f *Fixture) work(ctx context.Context) (also func(context.Context, *sql.Tx) error, left func() (int, error), err error) {
	if _, err := f.DB.ExecContext(ctx, `CREATE TABLE suite_work (n integer)`); err != nil {
		return nil, nil, err
	}
	also = func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO suite_work VALUES (1)`)
		return err
	}
	left = func() (n int, err error) {
		err = f.DB.QueryRowContext(ctx, `SELECT count(*) FROM suite_work`).Scan(&n)
		return n, err
	}
	return also, left, nil
}

// advanceWith moves the cursor in one transaction with further work.
func (f *Fixture) advanceWith(ctx context.Context, l log.Lease, p log.Position, also func(context.Context, *sql.Tx) error) error {
	return sqltx.Do(ctx, f.DB, func(ctx context.Context, tx *sql.Tx) error {
		if err := f.Log.Advance(ctx, l, p, long); err != nil {
			return err
		}
		return also(ctx, tx)
	})
}

func advanceTogether(ctx context.Context, f *Fixture) (err error) {
	defer steps.End(&err)
	also, left := steps.Two(f.work(ctx))
	steps.Do(f.add(ctx, cursor.Lane, "a", "b"))
	l := steps.Get(f.Log.Lease(ctx, cursor, "me", long))
	page, _ := steps.Two(f.Log.Read(ctx, cursor.Lane, l.Position, 1))
	steps.Do(f.advanceWith(ctx, l, page[0].Position, also))
	steps.Do(wantCount("rows that the further work left", 1)(left()))
	again := steps.Get(f.Log.Lease(ctx, cursor, "me", long))
	_, err = f.wantRead(ctx, cursor.Lane, again.Position, 10, "b")
	return err
}

func advanceFails(ctx context.Context, f *Fixture) (err error) {
	defer steps.End(&err)
	also, left := steps.Two(f.work(ctx))
	steps.Do(f.add(ctx, cursor.Lane, "a", "b"))
	old := steps.Get(f.Log.Lease(ctx, cursor, "me", long))
	l := steps.Get(f.Log.Lease(ctx, cursor, "me", long))
	page, _ := steps.Two(f.Log.Read(ctx, cursor.Lane, l.Position, 1))
	broken := errors.New("the work failed")
	steps.Do(errors.Join(
		wantErr("advance under a lost lease", f.advanceWith(ctx, old, page[0].Position, also), log.ErrLeaseLost),
		wantErr("advance with failing work", f.advanceWith(ctx, l, page[0].Position,
			func(ctx context.Context, tx *sql.Tx) error { return errors.Join(also(ctx, tx), broken) }), broken),
	))
	steps.Do(wantCount("rows that failed advances left", 0)(left()))
	again := steps.Get(f.Log.Lease(ctx, cursor, "me", long))
	_, err = f.wantRead(ctx, cursor.Lane, again.Position, 10, "a", "b")
	return err
}

func prune(ctx context.Context, f *Fixture) (err error) {
	defer steps.End(&err)
	steps.Do(f.add(ctx, 1, "a", "b", "c", "d", "e"))
	steps.Do(f.add(ctx, 2, "x"))
	future := time.Now().Add(time.Hour)
	all, _ := steps.Two(f.Log.Read(ctx, 1, log.Position{}, 10))
	steps.Get(f.Log.Lease(ctx, log.Cursor{Consumer: "slow", Lane: 2}, "me", long))
	// Two cursors: one has done every entry, the slow one has done none, then is in the middle.
	for consumer, done := range map[string]int{"fast": 5, "slow": 0} {
		l := steps.Get(f.Log.Lease(ctx, log.Cursor{Consumer: consumer, Lane: 1}, "me", long))
		if done > 0 {
			steps.Do(f.Log.Advance(ctx, l, all[done-1].Position, long))
		}
	}
	steps.Do(wantCount("pruned entries that a cursor has not passed", 0)(f.Log.Prune(ctx, 1, future, 10)))
	slow := steps.Get(f.Log.Lease(ctx, log.Cursor{Consumer: "slow", Lane: 1}, "me", long))
	// The slow consumer reads for itself: a position belongs to the read that returned it.
	page, next := steps.Two(f.Log.Read(ctx, 1, slow.Position, 3))
	steps.Do(f.Log.Advance(ctx, slow, page[2].Position, long))
	slow.Position = page[2].Position
	if n, err := f.Log.Prune(ctx, 1, future, 2); err != nil {
		return err
	} else if n > 2 {
		return fmt.Errorf("pruned %d entries with a limit of 2", n)
	}
	steps.Get(f.Log.Prune(ctx, 1, future, 10))
	if _, err := f.wantRead(ctx, 1, next, 10, "d", "e"); err != nil {
		return fmt.Errorf("what the slow cursor has still to read: %w", err)
	}
	rest, _ := steps.Two(f.Log.Read(ctx, 1, next, 10))
	steps.Do(f.Log.Advance(ctx, slow, rest[1].Position, long))
	steps.Get(f.Log.Prune(ctx, 1, future, 10))
	left := 0
	err = f.DB.QueryRowContext(ctx, `SELECT count(*) FROM suite_messages WHERE lane = 1`).Scan(&left)
	steps.Do(wantCount("entries left that every cursor has passed", 0)(left, err))
	if _, err := f.wantRead(ctx, 2, log.Position{}, 10, "x"); err != nil {
		return fmt.Errorf("another lane: %w", err)
	}
	// A new cursor starts at the earliest retained entry.
	steps.Do(f.add(ctx, 1, "f"))
	if _, err := f.wantRead(ctx, 1, rest[1].Position, 10, "f"); err != nil {
		return fmt.Errorf("behind an entry that was pruned, with a slow cursor in another lane: %w", err)
	}
	late := steps.Get(f.Log.Lease(ctx, log.Cursor{Consumer: "late", Lane: 1}, "me", long))
	_, err = f.wantRead(ctx, 1, late.Position, 10, "f")
	return err
}

func pruneAge(ctx context.Context, f *Fixture) (err error) {
	defer steps.End(&err)
	steps.Do(f.add(ctx, 1, "a", "b"))
	steps.Do(wantCount("pruned young entries", 0)(f.Log.Prune(ctx, 1, time.Now().Add(-time.Hour), 10)))
	// This lane has no reader, so only age decides.
	return wantCount("pruned old entries", 2)(f.Log.Prune(ctx, 1, time.Now().Add(time.Hour), 10))
}

func backlog(ctx context.Context, f *Fixture) (err error) {
	defer steps.End(&err)
	want := func(c log.Cursor, limit, want int) error {
		n, oldest, err := f.Log.Backlog(ctx, c, 1, limit)
		if err != nil {
			return err
		}
		if n != want || oldest.IsZero() != (want == 0) {
			return fmt.Errorf("the backlog is %d, oldest %v, want %d", n, oldest, want)
		}
		if want > 0 && (time.Since(oldest) > time.Minute || time.Until(oldest) > time.Minute) {
			return fmt.Errorf("the oldest was appended at %v, now is %v", oldest, time.Now())
		}
		return nil
	}
	steps.Do(want(cursor, 10, 0))
	steps.Do(errors.Join(f.add(ctx, cursor.Lane, "a", "b", "c"), f.add(ctx, cursor.Lane+1, "x")))
	steps.Named(errors.Join(want(cursor, 10, 3), want(cursor, 2, 2)), "before the cursor exists")
	across := func(lanes, limit, want int) error {
		n, oldest, err := f.Log.Backlog(ctx, cursor, lanes, limit)
		if err == nil && (n != want || oldest.IsZero()) {
			err = fmt.Errorf("the backlog of %d lanes is %d, oldest %v, want %d", lanes, n, oldest, want)
		}
		return err
	}
	steps.Do(errors.Join(across(2, 10, 4), across(2, 2, 3), across(100, 10, 4)))
	l := steps.Get(f.Log.Lease(ctx, cursor, "me", long))
	steps.Do(want(cursor, 10, 3))
	page, _ := steps.Two(f.Log.Read(ctx, cursor.Lane, l.Position, 10))
	for i, left := range []int{2, 1, 0} {
		steps.Do(f.Log.Advance(ctx, l, page[i].Position, long))
		l.Position = page[i].Position
		steps.Named(want(cursor, 10, left), "after %d", i+1)
	}
	steps.Named(want(log.Cursor{Consumer: "other", Lane: cursor.Lane}, 10, 3), "of a consumer without a cursor, beside one that has done all")
	steps.Named(across(2, 10, 1), "without a cursor in the second lane")
	steps.Do(f.add(ctx, cursor.Lane, "d"))
	return want(cursor, 10, 1)
}
