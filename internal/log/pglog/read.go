package pglog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/log"
)

// The number of ids that one statement passes over is bounded, because their rows may be in no
// window yet, or not pending: a writer that is still running left them, or they were published
// long ago. While a statement is quick, the number grows.
const (
	firstSpan = 100_000
	maxSpan   = 1 << 50
	quick     = 50 * time.Millisecond

	lookEvery = 5 * time.Second
)

// backlogged is the size of a batch from which its plan matters.
const backlogged = 32

// Read implements [log.Log]. It reads on in the position's window, or opens the next one: one
// round trip, unless many rows have to be passed over.
func (l *Log) Read(ctx context.Context, lane int, after log.Position, limit int) ([]log.Entry, log.Position, error) {
	w, err := windowAt(after)
	if err != nil || limit <= 0 {
		return nil, after, err
	}
	if w.to != "" && limit >= backlogged {
		l.gatherStatistics(ctx) // a window of several batches: a backlog
	}
	var entries []log.Entry
	opened, moved := false, false
	for span := int64(firstSpan); ; {
		start := time.Now()
		page, bound, opening, err := l.step(ctx, lane, limit-len(entries), span, &w)
		switch {
		case err == nil:
		case moved && ctx.Err() == nil && !errors.Is(err, log.ErrLeaseLost) && !errors.Is(err, log.ErrForeignDatabase):
			// Ids that were passed over need not be passed again.
			return entries, w.position(), nil
		default:
			return nil, after, fmt.Errorf("pglog: read: %w", err)
		}
		opened = opened || opening
		for i := range page {
			page[i].Position = w.after(page[i].ID)
		}
		if w.last, moved = bound, true; len(entries)+len(page) == limit && len(page) > 0 {
			w.last = page[len(page)-1].ID
		}
		if entries == nil {
			entries = page
		} else {
			entries = append(entries, page...)
		}
		done := w.last >= w.end
		switch {
		case done && len(entries) > 0:
			entries[len(entries)-1].Position = w.closed()
			return entries, w.closed(), nil
		case len(entries) >= limit:
			return entries, w.after(w.last), nil
		case done && opened:
			return entries, w.closed(), nil
		case done: // it ended with the last row that was read
			if w, err = windowAt(w.closed()); err != nil {
				return nil, after, err
			}
		}
		if time.Since(start) < quick {
			span = min(4*span, maxSpan)
		}
	}
}

// step is one statement: it reads on in w, or opens it. It returns the rows up to the id bound,
// or the first of them.
func (l *Log) step(ctx context.Context, lane, limit int, span int64, w *window) (page []log.Entry, bound int64, opening bool, err error) {
	if w.to != "" {
		bound = min(w.end, max(w.last, w.floor)+span)
		var head string
		text, args := l.sql.readWindow.with([]any{lane, w.since.first, w.to, w.floor, w.last, bound, limit, w.server}, w)
		page, head, err = l.scan(ctx, lane, limit, text, args)
		if err == nil {
			err = w.at(head)
		}
		return page, bound, false, err
	}
	if err := l.lookAhead(ctx, lane); err != nil {
		return nil, 0, true, err
	}
	for spent := false; ; {
		text, args := l.sql.openWindow.with([]any{lane, w.since.first, w.floor, limit, span, w.server}, w)
		page, text, err = l.scan(ctx, lane, limit, text, args)
		if err != nil {
			return nil, 0, true, err
		}
		head, err := parseHead(text)
		if err == nil {
			err = w.at(head.server)
		}
		if err != nil {
			return nil, 0, true, err
		}
		if head.floor < 0 {
			w.floor = unknown // the sequence of ids was set back
			continue
		}
		to, ok := listed(head.snapshot, head.next)
		if !ok && !spent {
			// After one more transaction has ended, only running transactions are left to list.
			if _, err := l.db.ExecContext(ctx, `SELECT pg_current_xact_id()`); err != nil {
				return nil, 0, true, err
			}
			spent = true
			continue
		}
		if head.end > head.highest {
			// The sequence did not assign these ids, and may still assign them.
			to = head.snapshot
		}
		w.to, w.end, w.floor = to, head.end, head.floor
		return page, head.bound, true, nil
	}
}

// lookAhead fails when the lane has a row whose transaction is ahead of the server. It checks
// only from time to time: such a row is not read in any case, and the check reports it.
func (l *Log) lookAhead(ctx context.Context, lane int) error {
	if last, ok := l.looked.Load(lane); ok && time.Since(last.(time.Time)) < lookEvery {
		return nil
	}
	now := time.Now()
	var id int64
	var xid string
	switch err := l.db.QueryRowContext(ctx, l.sql.ahead, lane).Scan(&id, &xid); {
	case errors.Is(err, sql.ErrNoRows):
		l.looked.Store(lane, now)
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("row %d of %s was written by transaction %s, which lies ahead of this server: it comes from another one; rebase lane %d: %w",
		id, l.tables.Messages, xid, lane, log.ErrForeignDatabase)
}

// at records which server answered: "" for the known one.
func (w *window) at(server string) error {
	switch {
	case server == "":
		return nil
	case w.server != "":
		return fmt.Errorf("the position was read on another run of the server, or on another server: %w", log.ErrLeaseLost)
	}
	w.server = server
	return nil
}

// Backlog implements [log.Log].
func (l *Log) Backlog(ctx context.Context, c log.Cursor, lanes, limit int) (int, time.Time, error) {
	n, oldest, err := log.EachBacklog(c, lanes, func(c log.Cursor) (int, time.Time, error) { return l.backlog(ctx, c, limit) })
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("pglog: backlog: %w", err)
	}
	return n, oldest, nil
}

func (l *Log) backlog(ctx context.Context, c log.Cursor, limit int) (n int, at time.Time, err error) {
	var p log.Position
	err = l.db.QueryRowContext(ctx, l.sql.position, c.Consumer, c.Lane).Scan(&p.From, &p.To, &p.End, &p.Floor, &p.ID)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, at, err
	}
	behind, err := Behind(p)
	if err != nil {
		return 0, at, err
	}
	var oldest sql.NullTime
	err = l.db.QueryRowContext(ctx, l.sql.backlog, append([]any{c.Lane, limit}, behind...)...).Scan(&n, &oldest)
	return n, oldest.Time, err
}
