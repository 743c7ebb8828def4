package app

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/internal/redistest"
)

// figures are the figures of a show's page.
type figures struct {
	CommentCount, LikeCount, ViewCount, SalesCount int64
}

func (f *fan) figures(show string) (x figures) {
	f.p.t.Helper()
	f.call(http.MethodGet, "/api/shows/"+show, "", nil, 200, &x)
	return x
}

// The members' actions around a show move its figures, through every consumer.
func TestFigures(t *testing.T) {
	t.Run("embedded", func(t *testing.T) { moveFigures(t) })
	t.Run("Redis", func(t *testing.T) {
		moveFigures(t, "--redis-url", redistest.StartServer(t).URL(), "--redis-prefix", "box:")
	})
}

func moveFigures(t *testing.T, args ...string) {
	t.Helper()
	p := start(t, append([]string{"--data-dir", t.TempDir()}, args...)...)
	ann, bob := p.fan("ann"), p.fan("bob")
	var comment struct{ ID string }
	for i, f := range []*fan{ann, bob, ann} {
		f.call(http.MethodPost, "/api/shows/show-1/comments", "", map[string]string{"text": fmt.Sprint("comment ", i)}, 201, &comment)
		f.call(http.MethodPost, "/api/shows/show-1/like", "", nil, 204, nil)
	}
	ann.call(http.MethodDelete, "/api/comments/"+comment.ID, "", nil, 204, nil)
	for range 250 { // several batches
		bob.call(http.MethodPost, "/api/shows/show-1/view", "", nil, 202, nil)
	}
	held := ann.hold("A-1", "A-2")
	ann.await(held.ReservationID, ann.pay(held, approve), "A-1", "CONFIRMED , SUCCESS , SOLD")

	want := figures{CommentCount: 2, LikeCount: 2, ViewCount: 250, SalesCount: 2}
	var got figures
	boxtest.WaitFor(t, "figures", func() bool { got = ann.figures("show-1"); return got == want },
		func() string { return fmt.Sprintf("%+v", got) })
	boxtest.WaitFor(t, "the total in the database, and nothing beside it", func() bool {
		var n int64
		if pending, err := p.app.office.social.Pending(t.Context(), "show-1"); err != nil || pending["show-1"] != 0 {
			return false
		}
		err := p.app.office.store.Reader().QueryRowContext(t.Context(), `SELECT comment_count FROM shows WHERE show_id = 'show-1'`).Scan(&n)
		return err == nil && n == 2
	})
	p.sound()
	if got := ann.figures("show-1"); got != want {
		t.Errorf("at rest: %+v", got)
	}
}

// A view of an unknown show among others becomes a dead letter, and the others count.
func TestMalformedView(t *testing.T) {
	p := start(t, "--data-dir", t.TempDir())
	ann := p.fan("ann")
	var all []*message.Message
	for i := range 20 {
		e, err := events.New(events.ShowViewed, "product", "show-4", "", false, events.Viewed{})
		require.NoError(t, err)
		if i == 7 {
			e.AggregateID, e.PartitionKey = "", "show-4"
		}
		made, err := event.Structured{}.Encode(e)
		require.NoError(t, err)
		all = append(all, made)
	}
	require.NoError(t, p.app.office.bus.Publisher().Publish(events.Products, all...))
	var got figures
	boxtest.WaitFor(t, "the other views", func() bool { got = ann.figures("show-4"); return got.ViewCount == 19 },
		func() string { return fmt.Sprintf("%+v", got) })
	boxtest.WaitFor(t, "one dead letter", func() bool {
		letters, err := p.app.office.bus.Browse(t.Context(), "product-events.DLT", 100)
		require.NoError(t, err)
		return len(letters) == 1 && letters[0].UUID == all[7].UUID
	})
	if got := ann.figures("show-4"); got.ViewCount != 19 {
		t.Errorf("%+v", got)
	}
}

// Events that arrive again, and two about one order.
func TestFiguresOnce(t *testing.T) {
	p := start(t, "--data-dir", t.TempDir())
	ann := p.fan("ann")
	booked := ann.hold("A-1", "A-2", "A-3")
	ann.await(booked.ReservationID, ann.pay(booked, approve), "A-1", "CONFIRMED , SUCCESS , SOLD")
	made := func(typ, about, show string, data any) event.Event {
		e, err := events.New(typ, about, show, "ann", false, data)
		require.NoError(t, err)
		return e
	}
	all := []event.Event{
		made(events.ShowLiked, "like", "show-1", events.Liked{MemberID: "ann"}),
		made(events.OrderCompleted, "order", "show-1", events.Ordered{ReservationID: booked.ReservationID, Seats: 3}), // another event about it
	}
	for range 30 {
		all = append(all, made(events.ShowViewed, "product", "show-1", events.Viewed{}))
	}
	for range 3 {
		for _, e := range all {
			topic, err := route(e)
			require.NoError(t, err)
			message, err := event.Structured{}.Encode(e)
			require.NoError(t, err)
			require.NoError(t, p.app.office.bus.Publisher().Publish(topic, message))
		}
	}
	want := figures{LikeCount: 1, SalesCount: 3, ViewCount: 30}
	var got figures
	boxtest.WaitFor(t, "figures", func() bool { got = ann.figures("show-1"); return got == want },
		func() string { return fmt.Sprintf("%+v", got) })
	p.sound()
	if got := ann.figures("show-1"); got != want {
		t.Errorf("at rest: %+v", got)
	}
}

func TestDeadLetterNames(t *testing.T) {
	for consumer, want := range map[[2]string]string{
		{events.Payments, events.GroupSold}:        "dlq.payment",
		{events.Memberships, events.GroupStats}:    "dlq.membership",
		{events.Likes, events.GroupLikes}:          "like-events.DLT",
		{events.Orders, events.GroupOrders}:        "order-events.DLT",
		{events.Products, events.GroupViews}:       "product-events.DLT",
		{events.Stock, events.GroupStock}:          "stock-events.DLT",
		{events.Domain, events.GroupNotifications}: "notification_dlq",
		{events.Domain, events.GroupCounts}:        "aggregate_dlq",
		{events.Domain, events.GroupChatPersist}:   "chat_persist_dlq",
		{events.Domain, events.GroupChatFanout}:    "chat_fanout_dlq",
		{events.Transfers, events.GroupStats}:      "dlq.transfer",
		{events.Reservations, events.GroupRelease}: "dlq.reservation",
		{events.Payments, events.GroupReservation}: "dlq.payment",
		{events.Reservations, events.GroupStats}:   "dlq.reservation",
		{events.Payments, events.GroupTickets}:     "dlq.payment",
		{events.Payments, events.GroupStats}:       "dlq.payment",
	} {
		if got := operated(store.Consumer{Topic: consumer[0], Group: consumer[1]}).DeadLetters; got != want {
			t.Errorf("%s of %s: %s, want %s", consumer[1], consumer[0], got, want)
		}
	}
	once := retry(events.Likes)
	if once.MaxRetries != 1 || once.Backoff.Delay(1) != bus.FixedRetry(1e9, 1).Backoff.Delay(1) {
		t.Errorf("%+v", once)
	}
	if policy := retry(events.Domain); policy.MaxRetries == 1 {
		t.Errorf("%+v", policy)
	}
}

// Each event that members cause has a topic, and on RabbitMQ the queues of
// domain_events receive only the events that their groups handle.
func TestRoutes(t *testing.T) {
	for about, want := range map[string]string{
		"like": events.Likes, "order": events.Orders, "product": events.Products, "stock": events.Stock,
		"chat": events.Domain, "comment": events.Domain, "notice": events.Domain,
	} {
		if got, err := route(event.Event{AggregateType: about}); got != want || err != nil {
			t.Errorf("%s: %s, %v", about, got, err)
		}
	}
	handled := map[string][]string{}
	for _, c := range start(t, "--data-dir", t.TempDir()).app.office.consumers.all {
		if c.Topic == events.Domain {
			handled[c.Group] = slices.Sorted(maps.Keys(c.Handlers))
		}
	}
	bound := bindings()
	for _, types := range bound {
		slices.Sort(types)
	}
	assert.Truef(t, reflect.DeepEqual(bound, handled), "the queues take %v, the groups handle %v", bound, handled)
}
