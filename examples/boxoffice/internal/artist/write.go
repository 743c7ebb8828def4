package artist

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/fault"
)

// result of one artist's refresh: a document, or a failure.
type result struct {
	id      string
	version int64
	doc     Document
	packed  []byte // of doc; nil when it is thought to be kept
	read    bool   // a reader read it, so it is to be in the database
	err     error
}

// locked is an artist's row, held until the end of the transaction.
type locked struct {
	version int64
	hash    string
	stored  bool // the extract is in the database
	archive bool // or in the archive
}

// written counts the outcomes of a batch of results.
type written struct{ unchanged, changed, remembered, missing, superseded int64 }

// write stores the results in one transaction, with a few statements for any number
// of results. A result whose version is below the row's changes nothing: a later
// refresh has been written before it.
func (w *Worker) write(ctx context.Context, tx *sql.Tx, all []result) (written, error) {
	var n written
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b result) int { return cmp.Compare(a.id, b.id) })
	held, err := w.lock(ctx, tx, all)
	if err != nil {
		return n, err
	}
	var light, full, changes, gone, failed []result
	var fine, back []string
	for _, r := range all {
		row := held[r.id]
		switch {
		case r.version < row.version:
			n.superseded++
			continue
		case r.err != nil:
			if missing(r.err) {
				gone = append(gone, r)
			}
			failed = append(failed, r)
			continue
		case row.hash == r.doc.Hash && (row.stored || row.archive && !r.read):
			light = append(light, r)
		default:
			if r.packed == nil {
				if r.packed, err = pack(r.doc.Content); err != nil {
					return n, err
				}
			}
			full = append(full, r)
			if row.hash != r.doc.Hash {
				changes = append(changes, r)
			}
			if !row.stored {
				back = append(back, r.id)
			}
		}
		fine = append(fine, r.id)
	}
	n.unchanged, n.changed, n.remembered, n.missing = int64(len(light)), int64(len(full)), int64(len(changes)), int64(len(gone))
	// From the first failure on, neither does anything.
	put := func(statement string, all []result, values func(result) []any) {
		if err != nil || len(all) == 0 {
			return
		}
		var args []any
		for _, r := range all {
			args = append(args, values(r)...)
		}
		err = store.Insert(ctx, tx, statement, len(all), args)
	}
	apply := func(statement string, ids []string) {
		if err == nil {
			err = each(ctx, tx, statement, ids)
		}
	}
	checked := func(r result) []any { return []any{r.id, r.version} }
	put(w.m.sql.Checked, light, checked)
	put(w.m.sql.Changed, full, func(r result) []any {
		return []any{r.id, r.version, r.doc.Name, r.doc.Level, millis(r.doc.UpdatedAt), r.doc.Hash}
	})
	put(w.m.sql.Keep, full, func(r result) []any { return []any{r.id, r.packed} })
	put(w.m.sql.Remember, changes, func(r result) []any { return []any{r.id, r.doc.Hash, r.packed} })
	apply(w.m.sql.Unarchive, back)
	apply(w.m.sql.Succeeded, fine)
	put(w.m.sql.Missing, gone, checked)
	put(w.m.sql.Failed, failed, w.status)
	if err != nil {
		return n, fmt.Errorf("artist: write: %w", err)
	}
	return n, nil
}

// lock makes the missing rows, and locks all of them.
func (w *Worker) lock(ctx context.Context, tx *sql.Tx, all []result) (map[string]locked, error) {
	ids := make([]string, len(all))
	for i, r := range all {
		ids[i] = r.id
	}
	held := make(map[string]locked, len(ids))
	if err := w.hold(ctx, tx, ids, held); err != nil {
		return nil, err
	}
	absent := slices.DeleteFunc(ids, func(id string) bool { _, ok := held[id]; return ok })
	if len(absent) == 0 {
		return held, nil
	}
	if err := store.Insert(ctx, tx, w.m.sql.Wanted, len(absent), store.Args(absent...)); err != nil {
		return nil, err
	}
	return held, w.hold(ctx, tx, absent, held)
}

func (w *Worker) hold(ctx context.Context, tx *sql.Tx, ids []string, into map[string]locked) error {
	return store.Each(ctx, tx, store.In(w.m.sql.Lock, 1, len(ids)), store.Args(ids...), func(row *sql.Rows) error {
		var id string
		var l locked
		err := row.Scan(&id, &l.version, &l.hash, &l.stored, &l.archive)
		into[id] = l
		return err
	})
}

// status has the columns of update_status for a failure.
func (w *Worker) status(r result) []any {
	state, next := "RETRYING", w.cfg.Retry.Backoff.Max
	if fault.Of(r.err) == fault.Permanent {
		state, next = "FAILED", poisonFor
		if missing(r.err) {
			next = missingFor
		}
	}
	code, message := explain(r.err)
	return []any{r.id, state, code, message, next.Milliseconds()}
}

// each runs a statement once for all ids, which are its last parameter.
func each(ctx context.Context, tx *sql.Tx, statement string, ids []string, first ...any) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, store.In(statement, 1+len(first), len(ids)), append(first, store.Args(ids...)...)...)
	return err
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
