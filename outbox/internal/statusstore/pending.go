package statusstore

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/millrace-go/millrace/outbox"
)

// pending reads events by their state and the order of their rows.
//
// Where transactions commit out of that order (late is set), rows appear behind
// a mark. So a mark carries, beside the last row read, which rows before it are
// in flight: read, and not settled yet. What is pending there and not in flight
// came late. It is looked for after the rows behind the mark were read: when an
// event is seen then, the one before it in its key has committed, and is found.
type pending struct {
	db               *sql.DB
	ids              func([]int64) any
	read, late, some statement
}

// place is a mark. It is not kept in the database: the rows' state says it all.
type place struct {
	last   int64
	flight []row // ascending
}

// row is an event by the number of its row and its id: after a failover another
// event may have the number.
type row struct {
	seq int64
	id  string
}

func bySeq(a, b row) int { return cmp.Compare(a.seq, b.seq) }

func (*pending) Begin(context.Context, string) (outbox.Mark, error) { return &place{}, nil }

func (*pending) Position(outbox.Mark) string { return "" }

func (*pending) Behind(string) ([]any, error) { return nil, nil }

func (p *pending) Read(ctx context.Context, shard int, after outbox.Mark, limit int) (outbox.Batch, error) {
	from, _ := after.(*place)
	if from == nil {
		from = &place{}
	}
	var items []outbox.Item
	if err := p.read.each(ctx, p.db, scanInto(&items), shard, from.last, limit); err != nil {
		return outbox.Batch{}, err
	}
	next := &place{last: from.last}
	if !p.late.empty() && from.last > 0 {
		waiting, late, err := p.behind(ctx, shard, from, limit)
		if err != nil {
			return outbox.Batch{}, err
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
	return outbox.Batch{Items: items, Next: next}, nil
}

// behind returns what is still in flight of a mark, and what came late.
func (p *pending) behind(ctx context.Context, shard int, from *place, limit int) (flight []row, late []outbox.Item, err error) {
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
