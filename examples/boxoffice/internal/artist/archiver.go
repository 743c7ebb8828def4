package artist

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

//go:embed sql/archive.sql
var archiveSQL string

const (
	archiveLease = "artist-archive"
	// archiveLeaseTTL is how long a killed process keeps others from taking over. It must
	// exceed the time in which eight objects are put concurrently, including the tries of a
	// busy store.
	archiveLeaseTTL = time.Minute
	// archiveAgain is the pause after a failure.
	archiveAgain = 10 * time.Minute
	archiveJob   = "archive"
	archiveHour  = 3
	archiveBatch = 100
	// archiveCopies is how many objects are put at once.
	archiveCopies = 8
	// purgeBatch is how many rows a transaction deletes.
	purgeBatch = 500
)

// archiveAfter is how long ago an artist was read last when its snapshot moves
// to the tier of this number. Tier 0 is the database.
var archiveAfter = [...]time.Duration{0, 30 * 24 * time.Hour, 90 * 24 * time.Hour, 180 * 24 * time.Hour, 365 * 24 * time.Hour}

// ArchiverConfig of an [Archiver].
type ArchiverConfig struct {
	// Holder names this process in the lease; required.
	Holder string
	// Zone that 03:00 is of; time.Local when nil.
	Zone *time.Location
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

// Archiver moves unread snapshots out of the database, daily at 03:00, or later when
// no process ran then. Many processes may run it; the lease lets one of them do it.
//
//	        row PUTTING        object put         row STORED, extract gone
//	extract ───────────▶ extract ──────▶ extract ─────────────────────────▶ object
//
// A crash at any point leaves the snapshot in one of the two places, or in both with
// a row that says so; the next run cleans up.
type Archiver struct {
	m   *Mirror
	cfg ArchiverConfig
	sql struct {
		Old, Older, Putting, Hold, Stored, Drop, Leave string
		Interrupted, Waste, Gone, Expire, Many, Trim   string
		Forget, ForgetFailures, LastDone, Done         string
	}
}

// NewArchiver makes an Archiver of a mirror whose Config names an Archive. It
// does no I/O.
func NewArchiver(m *Mirror, cfg ArchiverConfig) (*Archiver, error) {
	switch {
	case m == nil:
		return nil, errors.New("artist: the mirror is nil; make one with New")
	case m.cfg.Archive == nil:
		return nil, errors.New("artist: the mirror has no Archive; name one in its Config")
	case cfg.Holder == "":
		return nil, errors.New("artist: ArchiverConfig.Holder is empty; name this process")
	}
	if cfg.Zone == nil {
		cfg.Zone = time.Local
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	a := &Archiver{m: m, cfg: cfg}
	return a, loadSQL(m.store, archiveSQL, &a.sql)
}

// Run archives when it is due, until ctx ends. It returns nil.
func (a *Archiver) Run(ctx context.Context) error {
	signal.Signal(nil).Repeat(ctx, func(ctx context.Context) time.Duration {
		wait, err := a.untilDue(ctx)
		if err == nil && wait <= 0 {
			if err = a.Archive(ctx); err == nil {
				wait, err = a.untilDue(ctx)
			}
		}
		if err != nil {
			wait = archiveAgain
			if ctx.Err() == nil && !errors.Is(err, store.ErrLeaseHeld) {
				a.cfg.Logger.Warn("snapshots could not be archived, will try again", "in", wait, "error", err)
			}
		}
		// Clocks are set and daylight is saved: check at least every hour.
		return min(wait, time.Hour)
	})
	return nil
}

// untilDue returns how long until the archive is due; 0 when it is.
func (a *Archiver) untilDue(ctx context.Context) (time.Duration, error) {
	var done, now int64
	if err := a.m.store.Reader().QueryRowContext(ctx, a.sql.LastDone, archiveJob).Scan(&done, &now); err != nil {
		return 0, fmt.Errorf("artist: look when the archive is due: %w", err)
	}
	at, last := events.Time(now), lastAt(events.Time(now), a.cfg.Zone)
	if events.Time(done).Before(last) {
		return 0, nil
	}
	return last.AddDate(0, 0, 1).Sub(at), nil
}

// lastAt is the last 03:00 at or before t.
func lastAt(t time.Time, zone *time.Location) time.Time {
	t = t.In(zone)
	at := time.Date(t.Year(), t.Month(), t.Day(), archiveHour, 0, 0, 0, zone)
	if at.After(t) {
		at = time.Date(t.Year(), t.Month(), t.Day()-1, archiveHour, 0, 0, 0, zone)
	}
	return at
}

// Archive does the whole job once, now. It fails with store.ErrLeaseHeld while
// another process does it.
func (a *Archiver) Archive(ctx context.Context) error {
	job := a.m.store.NewJob(archiveLease, a.cfg.Holder, archiveLeaseTTL, a.cfg.Logger)
	lease, err := job.Take(ctx)
	if err != nil {
		return err
	}
	defer job.GiveBack(ctx)
	old := archiveAfter[1].Milliseconds()
	// The steps that need no archive come first, so that they run during its outage too.
	if err := a.expire(ctx, lease); err != nil {
		return err
	}
	for _, statement := range []string{a.sql.Forget, a.sql.ForgetFailures} {
		if _, err := a.purge(ctx, lease, statement, old); err != nil {
			return err
		}
	}
	if err := a.exec(ctx, lease, a.sql.Interrupted); err != nil {
		return err
	}
	if err := a.sweep(ctx, lease); err != nil {
		return err
	}
	for to := len(archiveAfter) - 1; to > 0; to-- {
		for from := range to {
			if err := a.moveAll(ctx, lease, from, to); err != nil {
				return err
			}
		}
	}
	if err := a.sweep(ctx, lease); err != nil {
		return err
	}
	return a.exec(ctx, lease, a.sql.Done, archiveJob)
}

// purge runs a statement that deletes up to as many rows as its last parameter, each
// time in a transaction of its own, until it finds fewer.
func (a *Archiver) purge(ctx context.Context, lease store.Lease, statement string, args ...any) (all int64, err error) {
	for {
		var n int64
		err := a.tx(ctx, lease, func(ctx context.Context, tx *sql.Tx) error {
			res, err := tx.ExecContext(ctx, statement, append(args, purgeBatch)...)
			if err != nil {
				return err
			}
			n, err = res.RowsAffected()
			return err
		})
		if err != nil {
			return all, err
		}
		if all += n; n < purgeBatch {
			return all, nil
		}
	}
}

// exec runs one statement while this process has the lease.
func (a *Archiver) exec(ctx context.Context, lease store.Lease, statement string, args ...any) error {
	return a.tx(ctx, lease, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, statement, args...)
		return err
	})
}

func (a *Archiver) tx(ctx context.Context, lease store.Lease, fn func(ctx context.Context, tx *sql.Tx) error) error {
	err := a.m.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := lease.Keep(ctx, tx, archiveLeaseTTL); err != nil {
			return err
		}
		return fn(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("artist: archive: %w", err)
	}
	return nil
}

// sweep deletes the objects without a reference.
func (a *Archiver) sweep(ctx context.Context, lease store.Lease) error {
	for {
		waste, err := a.waste(ctx)
		if err != nil || len(waste) == 0 {
			return err
		}
		for few := range slices.Chunk(waste, archiveCopies) {
			if err := a.deleteAll(ctx, few); err != nil {
				return fmt.Errorf("artist: archive: %w", err)
			}
			if err := a.tx(ctx, lease, func(context.Context, *sql.Tx) error { return nil }); err != nil {
				return err
			}
		}
		err = a.tx(ctx, lease, func(ctx context.Context, tx *sql.Tx) error {
			for _, w := range waste {
				if _, err := tx.ExecContext(ctx, a.sql.Gone, w.id, w.tier); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// deleteAll deletes objects concurrently.
func (a *Archiver) deleteAll(ctx context.Context, all []object) error {
	failed := make([]error, len(all))
	var deletes sync.WaitGroup
	for i, o := range all {
		deletes.Go(func() { failed[i] = a.m.cfg.Archive.Delete(ctx, o.tier, o.id) })
	}
	deletes.Wait()
	return errors.Join(failed...)
}

type object struct {
	id   string
	tier int
}

func (a *Archiver) waste(ctx context.Context) ([]object, error) {
	all, err := store.List(ctx, a.m.store.Reader(), a.sql.Waste, []any{archiveBatch}, func(row *sql.Rows) (o object, err error) {
		err = row.Scan(&o.id, &o.tier)
		return o, err
	})
	if err != nil {
		return nil, fmt.Errorf("artist: archive: %w", err)
	}
	return all, nil
}
