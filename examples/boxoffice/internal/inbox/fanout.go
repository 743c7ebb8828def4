package inbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// audience is a kind of many recipients.
type audience string

const (
	followers audience = "FOLLOWERS" // of a member
	voters    audience = "VOTERS"    // on a show
)

// fanout is a notice whose recipients are not all stored yet.
type fanout struct {
	notice
	audience audience
	of       string
	after    string // the last recipient it was stored for
}

// fanOutLook is how often a process looks for the unfinished pages of others; its own
// ones wake it.
const fanOutLook = time.Second

// Run stores the rest of events with many recipients.
func (i *Intake) Run(ctx context.Context) {
	i.repeat(ctx, i.begun, "notifications could not be stored for all recipients", func(ctx context.Context) (time.Duration, error) {
		for ctx.Err() == nil {
			if more, err := i.FanOut(ctx); err != nil || !more {
				return fanOutLook, err
			}
		}
		return fanOutLook, nil
	})
}

// FanOut stores the next page of an event with many recipients, and reports whether
// there was one. Any number of processes may call it: each processes another event.
func (i *Intake) FanOut(ctx context.Context) (did bool, err error) {
	err = i.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		did = false
		var f fanout
		err := tx.QueryRowContext(ctx, i.sql.NextFanout).Scan(&f.eventID, &f.kind, &f.params, &f.message, &f.ref, &f.audience, &f.of, &f.after)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		did = true
		more, err := i.page(ctx, tx, &f)
		if err != nil {
			return err
		}
		if more {
			_, err = tx.ExecContext(ctx, i.sql.MoveFanout, f.eventID, f.after)
		} else {
			_, err = tx.ExecContext(ctx, i.sql.EndFanout, f.eventID)
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("inbox: fan out: %w", err)
	}
	return did, nil
}

// page stores for the next page of recipients, moves f after it, and reports whether
// others may follow.
func (i *Intake) page(ctx context.Context, tx *sql.Tx, f *fanout) (more bool, err error) {
	find, keep := i.sql.FollowersPage, i.sql.StoreFollowers
	if f.audience == voters {
		find, keep = i.sql.VotersPage, i.sql.StoreVoters
	}
	var n int
	var last string
	if err := tx.QueryRowContext(ctx, find, f.of, f.after, i.cfg.Page).Scan(&n, &last); err != nil {
		return false, fmt.Errorf("inbox: recipients of %s: %w", f.eventID, err)
	}
	if n == 0 {
		return false, nil
	}
	position, err := i.position(ctx, tx)
	if err != nil {
		return false, err
	}
	// Bounded by both ends: a follower that joins in between must not push another one
	// out.
	if _, err := tx.ExecContext(ctx, keep, f.prefix(), f.kind, f.params, f.message, f.ref, position, f.of, f.after, last); err != nil {
		return false, fmt.Errorf("inbox: store %s: %w", f.eventID, err)
	}
	f.after = last
	return n == i.cfg.Page, nil
}
