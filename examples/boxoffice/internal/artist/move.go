package artist

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist/archive"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// errDamaged keeps a damaged snapshot from replacing anything.
var errDamaged = errors.New("artist: a damaged snapshot is not moved")

// candidate is a snapshot that is old enough to move.
type candidate struct {
	id      string
	version int64
	hash    string
	packed  []byte
}

// moveAll moves the snapshots that are old enough from one tier to another, a batch
// at a time.
func (a *Archiver) moveAll(ctx context.Context, lease store.Lease, from, to int) error {
	for after := ""; ; {
		batch, err := a.candidates(ctx, from, to, after)
		if err != nil || len(batch) == 0 {
			return err
		}
		after = batch[len(batch)-1].id
		if err := a.move(ctx, lease, from, to, batch); err != nil {
			return err
		}
	}
}

func (a *Archiver) candidates(ctx context.Context, from, to int, after string) ([]candidate, error) {
	query, args := a.sql.Old, []any{archiveAfter[to].Milliseconds(), after, archiveBatch}
	if from > 0 {
		query, args = a.sql.Older, append(args, from)
	}
	all, err := store.List(ctx, a.m.store.Reader(), query, args, func(row *sql.Rows) (c candidate, err error) {
		err = row.Scan(&c.id, &c.version, &c.hash, &c.packed)
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("artist: archive: %w", err)
	}
	return all, nil
}

// move copies a batch and then, in one transaction, lets the copies count.
func (a *Archiver) move(ctx context.Context, lease store.Lease, from, to int, batch []candidate) error {
	err := a.tx(ctx, lease, func(ctx context.Context, tx *sql.Tx) error {
		for _, c := range batch {
			if _, err := tx.ExecContext(ctx, a.sql.Putting, c.id, to); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var copied []candidate
	for few := range slices.Chunk(batch, archiveCopies) {
		done, err := a.copyAll(ctx, from, to, few)
		if err != nil {
			return fmt.Errorf("artist: archive: %w", err)
		}
		copied = append(copied, done...)
		// A store may be slow; the lease is renewed for it.
		if err := a.tx(ctx, lease, func(context.Context, *sql.Tx) error { return nil }); err != nil {
			return err
		}
	}
	var moved int64
	err = a.tx(ctx, lease, func(ctx context.Context, tx *sql.Tx) error {
		moved = 0
		for _, c := range copied {
			done, err := a.commit(ctx, tx, from, to, c)
			if err != nil {
				return err
			}
			if done {
				moved++
			}
		}
		_, err := tx.ExecContext(ctx, a.sql.Interrupted) // copies that were not moved are waste
		return err
	})
	if err == nil {
		a.m.metrics.count(func(s *Stats) { s.Archived += moved })
	}
	return err
}

// copyAll copies snapshots concurrently, and returns those that are in their new
// tier.
func (a *Archiver) copyAll(ctx context.Context, from, to int, all []candidate) (copied []candidate, err error) {
	failed := make([]error, len(all))
	var copies sync.WaitGroup
	for i, c := range all {
		copies.Go(func() { failed[i] = a.copy(ctx, from, to, c) })
	}
	copies.Wait()
	for i, c := range all {
		switch e := failed[i]; {
		case errors.Is(e, archive.ErrNotFound), errors.Is(e, errDamaged):
			// The snapshot stays where it is; the next refresh repairs it.
			a.cfg.Logger.Warn("a snapshot cannot be archived", "artist", c.id, "from", from, "to", to, "error", e)
		case e != nil:
			err = errors.Join(err, e)
		default:
			copied = append(copied, c)
		}
	}
	return copied, err
}

// copy puts one snapshot into its new tier.
func (a *Archiver) copy(ctx context.Context, from, to int, c candidate) (err error) {
	if from > 0 {
		if c.packed, err = a.m.cfg.Archive.Get(ctx, from, c.id); err != nil {
			return err
		}
	}
	if _, err := unpack(c.packed, c.hash); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return a.m.cfg.Archive.Put(ctx, to, c.id, c.packed)
}

// commit records a copy, unless the artist was read or refreshed meanwhile.
func (a *Archiver) commit(ctx context.Context, tx *sql.Tx, from, to int, c candidate) (bool, error) {
	var version, unread int64
	if err := tx.QueryRowContext(ctx, a.sql.Hold, c.id).Scan(&version, &unread); err != nil {
		return false, err
	}
	if version != c.version || unread < archiveAfter[to].Milliseconds() {
		return false, nil
	}
	res, err := tx.ExecContext(ctx, a.sql.Stored, c.id, to)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	if err != nil || n == 0 { // the row was there already, as waste: the next run moves it
		return false, err
	}
	if from == 0 {
		_, err = tx.ExecContext(ctx, a.sql.Drop, c.id)
	} else {
		_, err = tx.ExecContext(ctx, a.sql.Leave, c.id, from)
	}
	return err == nil, err
}
