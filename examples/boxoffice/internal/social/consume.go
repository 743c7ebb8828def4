package social

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/sqltx"
)

// viewShows is how many shows the statement AddViews takes.
const viewShows = 5

var errNoShow = fault.MarkPermanent(errors.New("social: the event names no show"))

// Consumers are the groups that count, and the one that makes a sold-out show be read
// again.
func (x *Social) Consumers() []store.Consumer {
	return []store.Consumer{
		{Topic: events.Likes, Group: events.GroupLikes, Handlers: map[string]store.Handler{
			events.ShowLiked:   x.liked(1),
			events.ShowUnliked: x.liked(-1),
		}},
		{Topic: events.Orders, Group: events.GroupOrders, Key: byOrder, Handlers: map[string]store.Handler{
			events.OrderCompleted: x.ordered,
		}},
		{Topic: events.Products, Group: events.GroupViews, BatchTypes: []string{events.ShowViewed}, Batch: x.viewed, Check: namesShow},
		{Topic: events.Stock, Group: events.GroupStock, Handlers: map[string]store.Handler{
			events.ShowSoldOut: x.soldOut,
		}},
		{Topic: events.Domain, Group: events.GroupCounts, Handlers: map[string]store.Handler{
			events.CommentCountDeltaPublished: x.counts,
		}},
	}
}

// add adds to a show's column.
func (x *Social) add(ctx context.Context, tx *sql.Tx, statement, show string, n int64) (string, error) {
	rows, err := changed(ctx, tx, statement, show, n)
	if err != nil {
		return "", fmt.Errorf("social: count for %s: %w", show, err)
	}
	if rows == 0 {
		return "", fault.MarkPermanent(fmt.Errorf("%w: %s", catalog.ErrNoShow, show))
	}
	x.catalog.Evict(ctx, show)
	return "counted", nil
}

func (x *Social) liked(n int64) store.Handler {
	return func(ctx context.Context, tx *sql.Tx, e event.Event) (string, error) {
		return x.add(ctx, tx, x.sql.AddLikes, e.AggregateID, n)
	}
}

func (x *Social) ordered(ctx context.Context, tx *sql.Tx, e event.Event) (string, error) {
	var order events.Ordered
	if err := e.UnmarshalData(&order); err != nil {
		return "", fault.MarkPermanent(err)
	}
	return x.add(ctx, tx, x.sql.AddSales, e.AggregateID, int64(order.Seats))
}

// byOrder is the key of an order: a second event about it has no effect.
func byOrder(group string, e event.Event) (string, error) {
	var order events.Ordered
	if err := e.UnmarshalData(&order); err != nil {
		return "", fault.MarkPermanent(err)
	}
	if order.ReservationID == "" {
		return "", fault.MarkPermanent(fmt.Errorf("social: %s %s names no reservation", e.Type, e.ID))
	}
	return group + ":order:" + order.ReservationID + ":completed", nil
}

func namesShow(e event.Event) error {
	if e.AggregateID == "" {
		return errNoShow
	}
	return nil
}

// viewed adds up a batch. Views of an unknown show are dropped.
func (x *Social) viewed(ctx context.Context, tx *sql.Tx, all []event.Event) (string, error) {
	views := map[string]int64{}
	for _, e := range all {
		views[e.AggregateID]++
	}
	shows := slices.Sorted(maps.Keys(views))
	for some := range slices.Chunk(shows, viewShows) {
		args := make([]any, 0, 2*viewShows)
		for i := range viewShows {
			show := some[min(i, len(some)-1)]
			args = append(args, show, views[show])
		}
		if _, err := tx.ExecContext(ctx, x.sql.AddViews, args...); err != nil {
			return "", fmt.Errorf("social: count views: %w", err)
		}
		for _, show := range some {
			x.catalog.Evict(ctx, show)
		}
	}
	return "counted", nil
}

func (x *Social) soldOut(ctx context.Context, _ *sql.Tx, e event.Event) (string, error) {
	if e.AggregateID == "" {
		return "", errNoShow
	}
	x.catalog.Evict(ctx, e.AggregateID)
	return "evicted", nil
}

// counts makes readers see a comment before the next round counts it. The addition is
// made when its key is committed, so that a transaction that is retried adds once;
// its failure fails nothing.
func (x *Social) counts(ctx context.Context, _ *sql.Tx, e event.Event) (string, error) {
	var c events.Counted
	if err := e.UnmarshalData(&c); err != nil {
		return "", fault.MarkPermanent(err)
	}
	if e.AggregateID == "" {
		return "", errNoShow
	}
	// The commit is done: a caller's deadline must not prevent the addition.
	detached := context.WithoutCancel(ctx)
	sqltx.AfterCommit(ctx, func() {
		if err := x.counter.Add(detached, e.AggregateID, c.Delta); err != nil {
			x.cfg.Logger.Debug("a comment is counted by the next round only", "show", e.AggregateID, "error", err)
			return
		}
		x.catalog.Evict(context.Background(), e.AggregateID)
	})
	return "added", nil
}
