package social

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
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

// Tallies count what members do, and have a sold-out show read again.
type Tallies struct {
	*desk
	counts *Counts
	log    *slog.Logger
}

// Consumers are the groups that count, and the one that makes a sold-out show be read
// again.
func (t *Tallies) Consumers() []store.Consumer {
	return []store.Consumer{
		{Topic: events.Likes, Group: events.GroupLikes, Handlers: map[string]store.Handler{
			events.ShowLiked:   t.liked(1),
			events.ShowUnliked: t.liked(-1),
		}},
		{Topic: events.Orders, Group: events.GroupOrders, Key: byOrder, Handlers: map[string]store.Handler{
			events.OrderCompleted: t.ordered,
		}},
		{Topic: events.Products, Group: events.GroupViews, BatchTypes: []string{events.ShowViewed}, Batch: t.viewed, Check: namesShow},
		{Topic: events.Stock, Group: events.GroupStock, Handlers: map[string]store.Handler{
			events.ShowSoldOut: t.soldOut,
		}},
		{Topic: events.Domain, Group: events.GroupCounts, Handlers: map[string]store.Handler{
			events.CommentCountDeltaPublished: t.commented,
		}},
	}
}

// add adds to a show's column.
func (t *Tallies) add(ctx context.Context, tx *sql.Tx, statement, show string, n int64) (string, error) {
	rows, err := changed(ctx, tx, statement, show, n)
	if err != nil {
		return "", fmt.Errorf("social: count for %s: %w", show, err)
	}
	if rows == 0 {
		return "", fault.MarkPermanent(fmt.Errorf("%w: %s", catalog.ErrNoShow, show))
	}
	t.catalog.Evict(ctx, show)
	return "counted", nil
}

func (t *Tallies) liked(n int64) store.Handler {
	return func(ctx context.Context, tx *sql.Tx, e event.Event) (string, error) {
		return t.add(ctx, tx, t.sql.AddLikes, e.AggregateID, n)
	}
}

func (t *Tallies) ordered(ctx context.Context, tx *sql.Tx, e event.Event) (string, error) {
	var order events.Ordered
	if err := e.UnmarshalData(&order); err != nil {
		return "", fault.MarkPermanent(err)
	}
	return t.add(ctx, tx, t.sql.AddSales, e.AggregateID, int64(order.Seats))
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
func (t *Tallies) viewed(ctx context.Context, tx *sql.Tx, all []event.Event) (string, error) {
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
		if _, err := tx.ExecContext(ctx, t.sql.AddViews, args...); err != nil {
			return "", fmt.Errorf("social: count views: %w", err)
		}
		for _, show := range some {
			t.catalog.Evict(ctx, show)
		}
	}
	return "counted", nil
}

func (t *Tallies) soldOut(ctx context.Context, _ *sql.Tx, e event.Event) (string, error) {
	if e.AggregateID == "" {
		return "", errNoShow
	}
	t.catalog.Evict(ctx, e.AggregateID)
	return "evicted", nil
}

// commented makes readers see a comment before the next round counts it. The addition is
// made when its key is committed, so that a transaction that is retried adds once;
// its failure fails nothing.
func (t *Tallies) commented(ctx context.Context, _ *sql.Tx, e event.Event) (string, error) {
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
		if err := t.counts.counter.Add(detached, e.AggregateID, c.Delta); err != nil {
			t.log.Debug("a comment is counted by the next round only", "show", e.AggregateID, "error", err)
			return
		}
		t.catalog.Evict(context.Background(), e.AggregateID)
	})
	return "added", nil
}
