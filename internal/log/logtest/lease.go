package logtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/sqltx"
)

func leaseCases() []testCase {
	return []testCase{
		{Name: "LeaseStartsEarliest", Run: leaseStartsEarliest},
		{Name: "LeaseExclusive", Run: leaseExclusive},
		{Name: "LeaseRush", Run: leaseRush},
		{Name: "LeaseRelease", Run: leaseRelease},
		{Name: "LeaseExpires", Run: leaseExpires},
		{Name: "RenewExtends", Run: func(ctx context.Context, f *Fixture) error {
			return extends(ctx, f, func(l log.Lease) error { return f.Log.Renew(ctx, long, l) })
		}},
		{Name: "RenewOfMany", Run: renewOfMany},
		{Name: "AdvanceExtends", Run: func(ctx context.Context, f *Fixture) error {
			return extends(ctx, f, func(l log.Lease) error { return f.Log.Advance(ctx, l, l.Position, long) })
		}},
		{Name: "Fencing", Run: fencing},
	}
}

func leaseStartsEarliest(ctx context.Context, f *Fixture) (err error) {
	defer steps.End(&err)
	steps.Do(f.add(ctx, cursor.Lane, "a", "b"))
	l := steps.Get(f.Log.Lease(ctx, cursor, "me", long))
	if l.Cursor != cursor || l.Holder != "me" || l.Token <= 0 {
		return fmt.Errorf("the lease is %+v", l)
	}
	_, err = f.wantRead(ctx, cursor.Lane, l.Position, 10, "a", "b")
	return err
}

func leaseExclusive(ctx context.Context, f *Fixture) (err error) {
	defer steps.End(&err)
	l := steps.Get(f.Log.Lease(ctx, cursor, "me", long))
	_, held := f.Log.Lease(ctx, cursor, "you", long)
	again, err := f.Log.Lease(ctx, cursor, "me", long)
	steps.Named(err, "taking my own lease again")
	if again.Token <= l.Token {
		return fmt.Errorf("the token went from %d to %d, it must grow", l.Token, again.Token)
	}
	_, lane := f.Log.Lease(ctx, log.Cursor{Consumer: cursor.Consumer, Lane: cursor.Lane + 1}, "you", long)
	_, consumer := f.Log.Lease(ctx, log.Cursor{Consumer: "other", Lane: cursor.Lane}, "you", long)
	return errors.Join(
		wantErr("another holder", held, log.ErrLeaseHeld),
		wantErr("another lane", lane, nil),
		wantErr("another consumer", consumer, nil),
		// The first lease is of the same holder, but with an older token.
		wantErr("advance by an older token", f.Log.Advance(ctx, l, l.Position, long), log.ErrLeaseLost),
		wantErr("advance by the current token", f.Log.Advance(ctx, again, again.Position, long), nil),
	)
}

// leaseRush has many callers request a cursor that does not exist yet, and then one that has
// just been released.
func leaseRush(ctx context.Context, f *Fixture) error {
	for round := range 3 {
		var mu sync.Mutex
		var won []log.Lease
		var failed error
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				l, err := f.Log.Lease(ctx, cursor, fmt.Sprint("holder ", i), long)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					won = append(won, l)
				case !errors.Is(err, log.ErrLeaseHeld):
					failed = err
				}
			})
		}
		wg.Wait()
		if failed != nil {
			return failed
		}
		if len(won) != 1 {
			return fmt.Errorf("round %d: %d holders got the lease", round, len(won))
		}
		if err := f.Log.Release(ctx, won[0]); err != nil {
			return err
		}
	}
	return nil
}

func leaseRelease(ctx context.Context, f *Fixture) (err error) {
	defer steps.End(&err)
	steps.Do(f.add(ctx, cursor.Lane, "a", "b"))
	mine := steps.Get(f.Log.Lease(ctx, cursor, "me", long))
	page, _ := steps.Two(f.Log.Read(ctx, cursor.Lane, mine.Position, 1))
	steps.Do(f.Log.Advance(ctx, mine, page[0].Position, long))
	steps.Do(f.Log.Release(ctx, mine))
	yours, err := f.Log.Lease(ctx, cursor, "you", long)
	steps.Named(err, "after the release")
	steps.Get(f.wantRead(ctx, cursor.Lane, yours.Position, 10, "b"))
	// A release that is rolled back has no effect.
	kept := errors.New("kept")
	if err := sqltx.Do(ctx, f.DB, func(ctx context.Context, _ *sql.Tx) error {
		if err := f.Log.Release(ctx, yours); err != nil {
			return err
		}
		return kept
	}); !errors.Is(err, kept) {
		return fmt.Errorf("releasing in a transaction: %w", err)
	}
	// A second, late release must not free the new holder's lease.
	steps.Named(f.Log.Release(ctx, mine), "releasing a lost lease")
	_, err = f.Log.Lease(ctx, cursor, "she", long)
	return wantErr("a third holder", err, log.ErrLeaseHeld)
}

func leaseExpires(ctx context.Context, f *Fixture) (err error) {
	defer steps.End(&err)
	mine := steps.Get(f.Log.Lease(ctx, cursor, "me", short))
	yours := steps.Get(f.leaseSoon(ctx, cursor, "you"))
	if yours.Token <= mine.Token {
		return fmt.Errorf("the token went from %d to %d, it must grow", mine.Token, yours.Token)
	}
	return nil
}

// extends has a short lease extended and checks that it outlives its first term.
func extends(ctx context.Context, f *Fixture, prolong func(log.Lease) error) (err error) {
	defer steps.End(&err)
	l := steps.Get(f.Log.Lease(ctx, cursor, "me", short))
	steps.Do(prolong(l))
	// A lease taken later for the same time has expired by then.
	other := log.Cursor{Consumer: "clock", Lane: cursor.Lane}
	steps.Get(f.Log.Lease(ctx, other, "me", short))
	steps.Get(f.leaseSoon(ctx, other, "you"))
	_, err = f.Log.Lease(ctx, cursor, "you", long)
	return wantErr("another holder after the first term", err, log.ErrLeaseHeld)
}

// renewOfMany extends several leases at once, and loses one of them.
func renewOfMany(ctx context.Context, f *Fixture) (err error) {
	defer steps.End(&err)
	var all []log.Lease
	for i := range 3 {
		l := steps.Get(f.Log.Lease(ctx, log.Cursor{Consumer: cursor.Consumer, Lane: cursor.Lane + i}, "me", short))
		all = append(all, l)
	}
	steps.Do(f.Log.Renew(ctx, long, all...))
	other := log.Cursor{Consumer: "clock", Lane: cursor.Lane}
	steps.Get(f.Log.Lease(ctx, other, "me", short))
	steps.Get(f.leaseSoon(ctx, other, "you"))
	for _, l := range all {
		_, err := f.Log.Lease(ctx, l.Cursor, "you", long)
		steps.Do(wantErr(fmt.Sprintf("another holder of lane %d after the first term", l.Lane), err, log.ErrLeaseHeld))
	}
	if _, err := f.Log.Lease(ctx, all[1].Cursor, "me", long); err != nil { // another token
		return err
	}
	return wantErr("renewing when one is lost", f.Log.Renew(ctx, long, all...), log.ErrLeaseLost)
}

// fencing wakes a holder that slept past the end of its lease.
func fencing(ctx context.Context, f *Fixture) (err error) {
	defer steps.End(&err)
	steps.Do(f.add(ctx, cursor.Lane, "a", "b", "c"))
	mine := steps.Get(f.Log.Lease(ctx, cursor, "me", time.Nanosecond))
	page, _ := steps.Two(f.Log.Read(ctx, cursor.Lane, mine.Position, 3))
	yours := steps.Get(f.leaseSoon(ctx, cursor, "you"))
	steps.Do(f.Log.Advance(ctx, yours, page[0].Position, long))
	yours.Position = page[0].Position
	steps.Do(errors.Join(
		wantErr("advance by the old holder", f.Log.Advance(ctx, mine, page[2].Position, long), log.ErrLeaseLost),
		wantErr("renew by the old holder", f.Log.Renew(ctx, long, mine), log.ErrLeaseLost),
		wantErr("renew by the new holder", f.Log.Renew(ctx, long, yours), nil),
	))
	now := steps.Get(f.Log.Lease(ctx, cursor, "you", long))
	_, err = f.wantRead(ctx, cursor.Lane, now.Position, 10, "b", "c")
	return err
}
