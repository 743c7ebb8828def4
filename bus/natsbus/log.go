package natsbus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/millrace-go/millrace/bus/driver/logdriver"
)

// streamLog is logdriver.Log on JetStream: a topic is a stream, its partitions are subjects, and
// a Position is a sequence of the stream. A group's cursor on a partition is a key of the
// KV bucket, and each change of it names the revision that it replaces.
type streamLog struct {
	*link
	registry  *registry
	directory *directory

	mu   sync.Mutex
	held map[logdriver.Cursor]heldCursor
}

var _ logdriver.Log = (*streamLog)(nil)

// cursor is a group's place in a partition, as the bucket holds it.
type cursor struct {
	Place   int64         `json:"place"`   // the sequence of the last message done
	Created time.Time     `json:"created"` // of the stream that the place is in
	Holder  string        `json:"holder,omitempty"`
	Token   int64         `json:"token"`
	TTL     time.Duration `json:"ttl,omitempty"` // of the lease, in nanoseconds, since the key was written
}

// place is the cursor's place in the stream that was created at the given time: a new
// stream counts from 1 again.
func (c cursor) place(created time.Time) int64 {
	if !c.Created.Equal(created) {
		return 0
	}
	return c.Place
}

// heldCursor is a cursor as this process wrote it last, under a revision.
type heldCursor struct {
	cursor
	revision int64
}

// Lease implements logdriver.Log. Whether another holder's lease has expired is decided by
// the servers' clock alone: servers note when a key was written, and return their time.
func (l *streamLog) Lease(ctx context.Context, c logdriver.Cursor, holder string, ttl time.Duration) (logdriver.Lease, error) {
	p := l.registry.partition(c.Lane)
	mine, revision, err := change(ctx, l.link, cursorKey(p, c.Consumer), func(have *cursor, was found) error {
		if have.Holder != "" && have.Holder != holder {
			now, err := l.now(ctx)
			if err != nil {
				return err
			}
			if now.Before(was.at.Add(have.TTL)) {
				return logdriver.ErrLeaseHeld
			}
		}
		s, err := l.directory.make(ctx, p.topic)
		if err != nil {
			return err
		}
		*have = cursor{Place: have.place(s.Created), Created: s.Created, Holder: holder, Token: have.Token + 1, TTL: ttl}
		return nil
	})
	if err != nil {
		return logdriver.Lease{}, err
	}
	l.remember(c, heldCursor{mine, revision})
	return logdriver.Lease{Cursor: c, Holder: holder, Token: mine.Token, Position: logdriver.Position{ID: mine.Place}}, nil
}

// write changes the cursor of a lease. It fails with ErrLeaseLost when another member has
// the lease: then the revision is not the one that the holder wrote last.
func (l *streamLog) write(ctx context.Context, lease logdriver.Lease, set func(*cursor)) error {
	if b, ok := ctx.Value(batchKey{}).(*batch); ok {
		b.writes = append(b.writes, func(ctx context.Context) error { return l.writeNow(ctx, lease, set) })
		return nil
	}
	return l.writeNow(ctx, lease, set)
}

func (l *streamLog) writeNow(ctx context.Context, lease logdriver.Lease, set func(*cursor)) error {
	key := cursorKey(l.registry.partition(lease.Lane), lease.Consumer)
	l.mu.Lock()
	mine, ok := l.held[lease.Cursor]
	l.mu.Unlock()
	if ok && mine.Token == lease.Token {
		set(&mine.cursor)
		revision, err := update(ctx, l.link, key, mine.cursor, mine.revision)
		if err == nil {
			l.remember(lease.Cursor, heldCursor{mine.cursor, revision})
			return nil
		}
		if !errors.Is(err, errOvertaken) {
			return err
		}
	}
	// A write whose answer was lost has changed the revision too.
	have, revision, err := change(ctx, l.link, key, func(have *cursor, _ found) error {
		if have.Token != lease.Token || have.Holder != lease.Holder {
			return logdriver.ErrLeaseLost
		}
		set(have)
		return nil
	})
	if err == nil {
		l.remember(lease.Cursor, heldCursor{have, revision})
	}
	return err
}

func (l *streamLog) remember(c logdriver.Cursor, h heldCursor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.Holder == "" {
		delete(l.held, c)
		return
	}
	l.held[c] = h
}

// Renew implements logdriver.Log.
func (l *streamLog) Renew(ctx context.Context, ttl time.Duration, leases ...logdriver.Lease) error {
	return l.begin(ctx, func(ctx context.Context) error {
		for _, lease := range leases {
			if err := l.write(ctx, lease, func(c *cursor) { c.TTL = ttl }); err != nil {
				return err
			}
		}
		return nil
	})
}

// Advance implements logdriver.Log.
func (l *streamLog) Advance(ctx context.Context, lease logdriver.Lease, p logdriver.Position, ttl time.Duration) error {
	return l.write(ctx, lease, func(c *cursor) { c.Place, c.TTL = p.ID, ttl })
}

// Release implements logdriver.Log. Within begin it comes after all moves of cursors.
func (l *streamLog) Release(ctx context.Context, lease logdriver.Lease) error {
	release := func(ctx context.Context) error {
		err := l.writeNow(ctx, lease, func(c *cursor) { c.Holder, c.TTL = "", 0 })
		if errors.Is(err, logdriver.ErrLeaseLost) {
			return nil
		}
		return err
	}
	if b, ok := ctx.Value(batchKey{}).(*batch); ok {
		b.releases = append(b.releases, release)
		return nil
	}
	return release(ctx)
}

// batch collects the writes within begin.
type batch struct{ writes, releases []func(context.Context) error }

type batchKey struct{}

// begin is logdriver.Backend.Begin. There is no transaction: the cursors are written in
// parallel and independently, and leases are released after that.
func (l *streamLog) begin(ctx context.Context, fn func(ctx context.Context) error) error {
	if _, within := ctx.Value(batchKey{}).(*batch); within {
		return fn(ctx)
	}
	b := &batch{}
	if err := fn(context.WithValue(ctx, batchKey{}, b)); err != nil {
		return err
	}
	if err := atOnce(ctx, b.writes); err != nil {
		return err
	}
	return atOnce(ctx, b.releases)
}

func atOnce(ctx context.Context, calls []func(context.Context) error) error {
	errs := make([]error, len(calls))
	var wg sync.WaitGroup
	for i, call := range calls {
		wg.Go(func() { errs[i] = call(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Rebase implements logdriver.Log. A cursor names its stream, so it is never taken for
// another stream's.
func (l *streamLog) Rebase(context.Context, logdriver.Cursor, time.Time) error {
	return fmt.Errorf("rebase: %w", errors.ErrUnsupported)
}
