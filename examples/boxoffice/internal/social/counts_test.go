package social_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/counter"
	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/memcounter"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/social"
	"github.com/millrace-go/millrace/fault"
)

func show(t *testing.T, b *boxtest.Box, id string) catalog.Show {
	t.Helper()
	s, err := b.Catalog.Show(t.Context(), id)
	require.NoError(t, err)
	return s
}

func TestCounts(t *testing.T) {
	b := boxtest.New(t)
	show(t, b, "show-1") // is cached from here on
	for _, member := range []string{"ann", "bob", "cid"} {
		require.NoError(t, b.Social.Like(t.Context(), member, "show-1"))
	}
	require.NoError(t, b.Social.Unlike(t.Context(), "bob", "show-1"))
	for range 4 {
		require.NoError(t, b.Social.View(t.Context(), "", "show-1"))
	}
	b.Deliver(t, b.Outbox.Take()...)
	r := b.Reserve(t, "ann", "A-1", "A-2")
	b.Deliver(t, append(b.Outbox.Take(), b.Paid(t, b.Pay(t, r, boxtest.Approve)))...)
	if s := show(t, b, "show-1"); s.Likes != 2 || s.Views != 4 || s.Sales != 2 || s.Seats.Sold != 2 {
		t.Errorf("%+v", s)
	}
	if s := show(t, b, "show-2"); s.Likes != 0 || s.Views != 0 || s.Sales != 0 {
		t.Errorf("%+v", s)
	}
}

// Two events about one order have one key.
func TestOrderKey(t *testing.T) {
	b := boxtest.New(t)
	for _, c := range b.Social.Consumers() {
		if c.Group != events.GroupOrders {
			continue
		}
		key := func(data any) (string, error) {
			e, err := events.New(events.OrderCompleted, "order", "show-1", "ann", false, data)
			require.NoError(t, err)
			return c.Key(c.Group, e)
		}
		one, err1 := key(events.Ordered{ReservationID: "r", Seats: 1})
		two, err2 := key(events.Ordered{ReservationID: "r", Seats: 1})
		other, err3 := key(events.Ordered{ReservationID: "s", Seats: 1})
		if one != two || one == other || errors.Join(err1, err2, err3) != nil {
			t.Error(one, two, other, err1, err2, err3)
		}
		for _, data := range []any{events.Ordered{}, []int{1}} {
			if _, err := key(data); fault.Of(err) != fault.Permanent {
				t.Errorf("%v: %v", data, err)
			}
		}
		return
	}
	t.Fatal("nobody counts orders")
}

func TestMalformed(t *testing.T) {
	b := boxtest.New(t)
	for group, e := range map[string]struct{ typ, about, show string }{
		events.GroupLikes:  {events.ShowLiked, "like", "show-9"},
		events.GroupOrders: {events.OrderCompleted, "order", "show-9"},
		events.GroupStock:  {events.ShowSoldOut, "stock", ""},
		events.GroupCounts: {events.CommentCountDeltaPublished, "comment", ""},
		events.GroupViews:  {events.ShowViewed, "product", ""},
	} {
		made, err := events.New(e.typ, e.about, "show-1", "ann", false, struct{}{})
		require.NoError(t, err)
		made.AggregateID = e.show
		if _, err := b.Handle(t.Context(), group, made); fault.Of(err) != fault.Permanent {
			t.Errorf("%s: %v", group, err)
		}
	}
}

func TestSoldOut(t *testing.T) {
	b := boxtest.New(t)
	show(t, b, "show-1")
	e, err := events.New(events.ShowSoldOut, "stock", "show-1", "", false, events.SoldOut{})
	require.NoError(t, err)
	b.Exec(t, `UPDATE shows SET like_count = 7 WHERE show_id = 'show-1'`)
	b.Must(t, events.GroupStock, e, "evicted")
	if s := show(t, b, "show-1"); s.Likes != 7 {
		t.Errorf("%+v", s)
	}
}

// live is how many comments a show has by the rows.
func live(t *testing.T, b *boxtest.Box, id string) string {
	t.Helper()
	return b.Query(t, `SELECT COUNT(*) FROM comments WHERE show_id = $1 AND deleted_at IS NULL`, id)
}

func TestCommentCounts(t *testing.T) {
	b := boxtest.New(t)
	first := comment(t, b, "ann", "show-1", "one")
	comment(t, b, "bob", "show-1", "two")
	made := b.Outbox.Take()
	// Readers see them before they are counted, once they are consumed.
	b.Deliver(t, made...)
	assert.EqualValues(t, 2, show(t, b, "show-1").Comments, "before the round")
	flush(t, b)
	if got := b.Query(t, `SELECT comment_count FROM shows WHERE show_id = 'show-1'`); got != "2" || show(t, b, "show-1").Comments != 2 {
		t.Errorf("after the round: %s, shown %d", got, show(t, b, "show-1").Comments)
	}
	// An event redelivered after its row was counted is counted twice until the next
	// round.
	b.Deliver(t, made...)
	assert.EqualValues(t, 4, show(t, b, "show-1").Comments, "with the repeated additions")
	flush(t, b)
	boxtest.WaitFor(t, "the count without them", func() bool { return show(t, b, "show-1").Comments == 2 })
	// An addition that was lost is still in the total.
	require.NoError(t, b.Social.DeleteComment(t.Context(), "ann", first.ID))
	b.Deliver(t, b.Outbox.Take()...)
	b.Deltas.Lose()
	flush(t, b)
	if s := show(t, b, "show-1"); s.Comments != 1 || live(t, b, "show-1") != "1" {
		t.Errorf("after the loss: %d", s.Comments)
	}
}

func flush(t *testing.T, b *boxtest.Box) counter.Round {
	t.Helper()
	r, err := b.Social.Flush(t.Context())
	require.NoError(t, err)
	return r
}

// Writers, consumers and rounds run concurrently; the total is the rows.
func TestCommentCountsOfMany(t *testing.T) {
	b := boxtest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	x, err := social.New(b.Store, b.Catalog, b.Outbox, b.Deltas, social.Config{Holder: "test", Flush: 1e7})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- x.Counts.Run(ctx) }()
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			member := fmt.Sprintf("m%d", w)
			for i := range 10 {
				id := fmt.Sprintf("show-%d", 1+(w+i)%5)
				c, err := b.Social.Comment(t.Context(), member, id, "x")
				if err == nil && i%3 == 0 {
					err = b.Social.DeleteComment(t.Context(), member, c.ID)
				}
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	b.Deliver(t, b.Outbox.Take()...)
	boxtest.WaitFor(t, "counts that are the rows", func() bool {
		return b.Query(t, `SELECT COUNT(*) FROM shows s WHERE comment_count <>
			(SELECT COUNT(*) FROM comments c WHERE c.show_id = s.show_id AND c.deleted_at IS NULL)`) == "0"
	})
	cancel()
	assert.NoError(t, <-done)
}

// away is a store of deltas that is unreachable.
type away struct{ driver.MemoryStore }

func (away) Add(context.Context, string, string, int64) error {
	return fault.MarkInfrastructure(errors.New("away"))
}

func (away) Pending(context.Context, string, []string) (map[string]int64, error) {
	return nil, fault.MarkInfrastructure(errors.New("away"))
}

func (away) Take(context.Context, string, int) ([]driver.Taken, error) {
	return nil, fault.MarkInfrastructure(errors.New("away"))
}

func (away) Aside(context.Context, string) ([]driver.Taken, error) {
	return nil, fault.MarkInfrastructure(errors.New("away"))
}

func TestStoreOfDeltasAway(t *testing.T) {
	b := boxtest.New(t)
	x, err := social.New(b.Store, b.Catalog, b.Outbox, away{memcounter.New()}, social.Config{Holder: "test"})
	require.NoError(t, err)
	b.Catalog.SetPending(x.Pending)
	_, err = x.Comment(t.Context(), "ann", "show-1", "still here")
	require.NoError(t, err)
	for _, e := range b.Outbox.Take() {
		handle(t, b, x, e)
	}
	if _, err := x.Flush(t.Context()); err == nil {
		t.Error("the round does not say that the store is away")
	}
	if s := show(t, b, "show-1"); s.Comments != 1 {
		t.Errorf("%+v", s)
	}
}

// handle lets the consumers of x handle an event.
func handle(t *testing.T, b *boxtest.Box, x *social.Social, e event.Event) {
	t.Helper()
	for _, c := range x.Consumers() {
		h, ok := c.Handlers[e.Type]
		if !ok {
			continue
		}
		assert.NoErrorf(t, b.In(t, h, e), "%s", e.Type)
	}
}
