package statusstore

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/millrace-go/millrace/outbox/driver"
)

// pending reads events by their state and the order of their rows.
//
// If transactions commit out of that order (late is set), rows appear before the position of a
// mark. So a mark carries, besides the last row read, the rows before it that are in flight:
// read, and not settled yet. Pending rows there that are not in flight were committed late.
// They are read after the rows behind the mark: if an event is found there, the earlier events
// of its key have committed, and are found.
type pending struct {
	db               *sql.DB
	ids              func([]int64) any
	read, late, some statement
}

// place is a mark. It is not stored in the database: the rows' state is enough.
type place struct {
	last   int64
	flight []row // ascending
}

// row identifies an event by the number of its row and its id: after a failover another event
// may have the number.
type row struct {
	seq int64
	id  string
}

func bySeq(a, b row) int { return cmp.Compare(a.seq, b.seq) }

func (*pending) Begin(context.Context, string) (driver.Mark, error) { return &place{}, nil }

func (*pending) Position(driver.Mark) string { return "" }

func (*pending) Behind(string) ([]any, error) { return nil, nil }

func (p *pending) Read(ctx context.Context, shard int, after driver.Mark, limit int) (driver.Batch, error) {
	from, _ := after.(*place)
	if from == nil {
		from = &place{}
	}
	var items []driver.Item
	if err := p.read.each(ctx, p.db, scanInto(&items), shard, from.last, limit); err != nil {
		return driver.Batch{}, err
	}
	next := &place{last: from.last}
	if !p.late.empty() && from.last > 0 {
		waiting, late, err := p.behind(ctx, shard, from, limit)
		if err != nil {
			return driver.Batch{}, err
		}
		next.flight = waiting
		if items = append(late, items...); len(items) > limit {
			items = items[:limit]
		}
	}
	for i := range items {
		next.last = max(next.last, items[i].ID)
		items[i].Mark = next
	}
	if !p.late.empty() {
		for i := range items {
			next.flight = append(next.flight, row{items[i].ID, items[i].MessageID})
		}
		slices.SortFunc(next.flight, bySeq)
	}
	return driver.Batch{Items: items, Next: next}, nil
}

// behind returns the rows of a mark that are still in flight, and the rows that were committed
// late.
func (p *pending) behind(ctx context.Context, shard int, from *place, limit int) (flight []row, late []driver.Item, err error) {
	var fresh []int64
	err = p.late.each(ctx, p.db, func(rows *sql.Rows) error {
		var r row
		if err := rows.Scan(&r.seq, &r.id); err != nil {
			return err
		}
		if i, known := slices.BinarySearchFunc(from.flight, r, bySeq); known && from.flight[i].id == r.id {
			flight = append(flight, r)
		} else if len(fresh) < limit {
			fresh = append(fresh, r.seq)
		}
		return nil
	}, shard, from.last)
	if err != nil || len(fresh) == 0 {
		return flight, nil, err
	}
	err = p.some.each(ctx, p.db, scanInto(&late), shard, p.ids(fresh))
	return flight, late, err
}
