package logsub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/internal/log"
)

// committer extends the leases of all lanes that the process holds, in one call, or of one lane;
// see Backend.TopicsApart. It moves their cursors, several in a transaction, at most once per
// CommitInterval. After a pause the first acknowledgement is written at once.
type committer struct {
	b        Backend
	cfg      Config
	progress kit.Signal // a lane has a position to write

	// moving serializes writes to cursors: an older position must not overtake a newer one, nor
	// follow the release of the lease.
	moving gate

	mu      sync.Mutex
	lanes   map[*lane]struct{}
	leaving map[*lane]struct{} // their leases are to be released
}

func newCommitter(b Backend, cfg Config) *committer {
	return &committer{
		b: b, cfg: cfg, progress: kit.NewSignal(),
		moving: newGate(), lanes: make(map[*lane]struct{}), leaving: make(map[*lane]struct{}),
	}
}

func (c *committer) add(l *lane) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lanes[l] = struct{}{}
}

func (c *committer) remove(l *lane) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.lanes, l)
}

func (c *committer) run(ctx context.Context) {
	renew := time.NewTicker(c.cfg.LeaseTTL / 3)
	defer renew.Stop()
	var last time.Time
	failures := 0
	for {
		select {
		case <-c.progress:
		case <-renew.C:
		case <-ctx.Done():
			return
		}
		if backoff.Sleep(ctx, c.cfg.CommitInterval-time.Since(last)) != nil {
			return
		}
		err := c.commit(ctx)
		last = time.Now()
		if err == nil || ctx.Err() != nil {
			failures = 0
			continue
		}
		failures++
		c.cfg.Logger.Warn("bus: cursors could not be moved; trying again", slog.Int("attempt", failures), slog.Any("error", err))
		if backoff.Sleep(ctx, retry.Delay(failures)) != nil {
			return
		}
		c.progress.Send()
	}
}

// commit writes the due positions.
func (c *committer) commit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, opTimeout)
	defer cancel()
	if err := c.moving.enter(ctx); err != nil {
		return err
	}
	defer c.moving.leave()
	return errors.Join(c.move(ctx), c.progressed(ctx))
}

// progressed tells Directory, once per lane, that its cursor has moved.
func (c *committer) progressed(ctx context.Context) error {
	lanes := c.due((*lane).unknownProgress)
	if len(lanes) == 0 {
		return nil
	}
	cursors := make([]log.Cursor, len(lanes))
	for i, l := range lanes {
		cursors[i] = l.lease.Cursor
	}
	if err := c.b.Directory.Progress(ctx, cursors); err != nil {
		return err
	}
	for _, l := range lanes {
		l.tellProgress()
	}
	return nil
}

// due returns the lanes for which is reports true.
func (c *committer) due(is func(*lane) bool) (lanes []*lane) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l := range c.lanes {
		if is(l) {
			lanes = append(lanes, l)
		}
	}
	return lanes
}

// extend extends the leases that are more than a quarter over.
func (c *committer) extend(ctx context.Context) error {
	now := time.Now() // before the log is called
	return c.write(ctx, c.due(func(l *lane) bool { return l.term.Soon(now) }), func(ctx context.Context, lanes []*lane) error {
		leases := make([]log.Lease, len(lanes))
		for i, l := range lanes {
			leases[i] = l.held()
		}
		return c.b.Log.Renew(ctx, c.cfg.LeaseTTL, leases...)
	}, func(l *lane) { l.extended(now) })
}

// movedTogether is how many cursors are moved in one transaction. On a busy server a transaction
// takes a tenth of a second, in which the other leases must not expire.
const movedTogether = 16

// move moves the cursors, which also extends their leases. The other leases are extended first,
// and again between chunks if these take long.
func (c *committer) move(ctx context.Context) error {
	failed := c.extend(ctx)
	to := make(map[*lane]log.Position)
	lanes := c.due(func(l *lane) bool {
		p, moved := l.progress()
		to[l] = p
		return moved
	})
	for some := range slices.Chunk(lanes, movedTogether) {
		now := time.Now() // before the log is called
		failed = errors.Join(failed, c.write(ctx, some, func(ctx context.Context, lanes []*lane) error {
			for _, l := range lanes {
				if err := c.b.Log.Advance(ctx, l.held(), to[l], c.cfg.LeaseTTL); err != nil {
					return err
				}
			}
			return nil
		}, func(l *lane) { l.moved(to[l], now) }), c.extend(ctx))
	}
	return failed
}

// write calls do for the lanes together, or for each lane separately when one lease is lost.
func (c *committer) write(ctx context.Context, lanes []*lane, do func(ctx context.Context, lanes []*lane) error, done func(*lane)) error {
	var failed error
	err := c.together(ctx, lanes, do, func(l *lane, err error) {
		switch {
		case err == nil:
			done(l)
		case errors.Is(err, log.ErrLeaseLost):
			c.remove(l)
			l.lose()
		default:
			failed = errors.Join(failed, err)
		}
	})
	return errors.Join(err, failed)
}

// together calls do for the lanes in one transaction, or for each lane separately when one lease
// is lost, and then ended with the outcome of each lane. An error of the transaction itself is
// returned instead.
func (c *committer) together(ctx context.Context, lanes []*lane, do func(ctx context.Context, lanes []*lane) error, ended func(*lane, error)) error {
	if len(lanes) > 1 {
		err := c.b.Begin(ctx, func(ctx context.Context) error { return do(ctx, lanes) })
		if err == nil {
			for _, l := range lanes {
				ended(l, nil)
			}
			return nil
		}
		if !errors.Is(err, log.ErrLeaseLost) {
			return err
		}
	}
	// One lost lease rolls all of them back; separately, each has its own outcome.
	for _, l := range lanes {
		ended(l, do(ctx, []*lane{l}))
	}
	return nil
}

// retire writes a lane's last position and releases its lease. While the database is absent, it
// retries for closeTimeout. A database that stalls has answerTimeout to answer. It fails only if
// the position is not written, because messages are handled again then: a lease expires.
func (c *committer) retire(ctx context.Context, l *lane) error {
	c.remove(l) // a commit under way ends before the release
	c.leave(l)
	defer c.left(l)
	trying, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		err := c.releaseIn(ctx, l)
		if err == nil {
			return nil
		}
		if backoff.Sleep(trying, retry.Delay(attempt)) == nil {
			continue
		}
		if _, unwritten := l.progress(); !unwritten {
			l.sub.log.Warn("bus: a partition could not be given up; another member takes it when the lease expires",
				slog.Int("lane", l.lease.Lane), slog.Any("error", err))
			return nil
		}
		return fmt.Errorf("logsub: give up lane %d of group %s: %w", l.lease.Lane, l.lease.Consumer, err)
	}
}

func (c *committer) releaseIn(ctx context.Context, l *lane) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return c.release(ctx, l)
}

// release releases the lease of l, and in the same transaction those of all other leaving lanes:
// a process that ends has many at once.
func (c *committer) release(ctx context.Context, l *lane) error {
	if err := c.moving.enter(ctx); err != nil {
		return err
	}
	defer c.moving.leave()
	var own error
	err := c.together(ctx, c.leavingWith(l), c.giveBack, func(other *lane, err error) {
		switch {
		case err == nil, errors.Is(err, log.ErrLeaseLost):
			c.left(other)
		case other == l:
			own = err
		}
	})
	return cmp.Or(err, own)
}

// giveBack writes the lanes' positions, records orderly stops, which are no crashes, and releases
// the leases.
func (c *committer) giveBack(ctx context.Context, lanes []*lane) error {
	for _, l := range lanes {
		if p, moved := l.progress(); moved {
			if err := c.b.Log.Advance(ctx, l.held(), p, c.cfg.LeaseTTL); err != nil {
				return err
			}
		}
		if done, tell := l.leftover(); tell {
			if err := c.b.Directory.Stopped(ctx, l.lease.Cursor, done); err != nil {
				return err
			}
		}
		if err := c.b.Log.Release(ctx, l.lease); err != nil {
			return err
		}
	}
	return nil
}

func (c *committer) leave(l *lane) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaving[l] = struct{}{}
}

func (c *committer) left(l *lane) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.leaving, l)
}

// leavingWith returns all leaving lanes, or none when l has left.
func (c *committer) leavingWith(l *lane) []*lane {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.leaving[l]; !ok {
		return nil
	}
	return slices.Collect(maps.Keys(c.leaving))
}
