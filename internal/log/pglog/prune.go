package pglog

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// How often the progress of pruning is stored.
const (
	storeInterval = time.Minute
	storeChunks   = 100
)

// place is an id up to which no row of a lane is left, except rows of the transactions that were
// running when pruning passed: they may have written some below it. A late row is found by its
// transaction, because there may be any number of deleted rows between it and the place, which
// cannot be removed while a session keeps its snapshot.
type place struct {
	id      int64
	running string // an array literal of transaction ids
	server  string // another one may be behind, and assign ids below id again

	stored   int64
	storedAt time.Time
	chunks   int // since then
}

// Prune implements [log.Log]. It continues at the stored place, and stops at the first entry
// that must be kept.
func (l *Log) Prune(ctx context.Context, lane int, before time.Time, limit int) (int, error) {
	n, err := l.prune(ctx, lane, before, limit)
	if err != nil {
		return n, fmt.Errorf("pglog: prune: %w", err)
	}
	return n, nil
}

func (l *Log) prune(ctx context.Context, lane int, before time.Time, limit int) (deleted int, err error) {
	at, err := l.placeOf(ctx, lane)
	if err != nil {
		return 0, err
	}
	late := 0
	if at.running != "{}" {
		err := l.db.QueryRowContext(ctx, l.sql.pruneLate, lane, before, limit, at.id, at.running).Scan(&late, &at.running)
		if err != nil {
			return 0, err
		}
	}
	if late == limit {
		l.pruned.Store(lane, at)
		return late, nil
	}
	for n, moved := 0, true; moved && n == 0; { // it may have passed rows that stay
		var id int64
		var running, server string
		err := l.db.QueryRowContext(ctx, l.sql.prune, lane, before, limit-late, at.id).Scan(&n, &id, &running, &server)
		if err != nil {
			return late, err
		}
		deleted = late + n
		if server != at.server {
			l.pruned.Delete(lane)
			return deleted, nil
		}
		if moved = id > at.id; moved {
			at.id, at.running = id, join(at.running, running)
		}
	}
	at.chunks++
	if at.id != at.stored && (at.chunks >= storeChunks || deleted < limit && time.Since(at.storedAt) >= storeInterval) {
		if _, err := l.db.ExecContext(ctx, l.sql.pruneStore, lane, at.id, at.running); err != nil {
			return deleted, err
		}
		at.stored, at.storedAt, at.chunks = at.id, time.Now(), 0
	}
	l.pruned.Store(lane, at)
	return deleted, nil
}

// placeOf returns the place of a lane in memory, or else the stored one.
func (l *Log) placeOf(ctx context.Context, lane int) (place, error) {
	if at, ok := l.pruned.Load(lane); ok {
		return at.(place), nil
	}
	var at place
	err := l.db.QueryRowContext(ctx, l.sql.prunePlace, lane).Scan(&at.id, &at.running, &at.server)
	at.stored = at.id
	return at, err
}

// join joins two array literals of transaction ids, each id once.
func join(a, b string) string {
	ids := slices.Concat(split(a), split(b))
	slices.Sort(ids)
	return "{" + strings.Join(slices.Compact(ids), ",") + "}"
}

func split(array string) []string {
	return strings.FieldsFunc(array, func(r rune) bool { return strings.ContainsRune("{,}", r) })
}
