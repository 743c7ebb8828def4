// Package boxtest gives tests the parts of the box office on a fresh database,
// with an outbox that only remembers, so that a test decides which events are
// handled, when and in which order.
package boxtest

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/memcounter"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/inbox"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/social"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/stats"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ticket"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

// Cards of the simulated gateway.
const (
	Approve = "4242424242424242"
	Decline = "4000000000000002"
	Timeout = "4000000000000341"
)

// TicketKeys sign the tickets of every Box.
const TicketKeys = "5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e"

// Box is the parts on one database.
type Box struct {
	URL      string // of the database
	Store    *store.Store
	Outbox   *Outbox
	Catalog  *catalog.Catalog
	Booking  *booking.Booking
	Payments *payment.Payments
	Door     *ticket.Door
	Stats    *stats.Stats
	Social   *social.Social
	Inbox    *inbox.Inbox
	// Deltas are the comments that Social has not counted yet.
	Deltas driver.MemoryStore
}

// New opens a fresh database: a SQLite file, or one on the server that
// BOXOFFICE_TEST_DB names. It is closed at the test's end.
func New(t testing.TB) *Box {
	t.Helper()
	return Open(t, URL(t))
}

// URL returns the URL of a fresh database: in a SQLite file unless the variable
// BOXOFFICE_TEST_DB is postgres, mariadb or mysql; then on the test server of that
// database. It is deleted with the test.
func URL(t testing.TB) string {
	t.Helper()
	switch db := os.Getenv("BOXOFFICE_TEST_DB"); db {
	case "", "sqlite":
		path := filepath.Join(t.TempDir(), "boxoffice.db")
		Copy(t, path)
		return "sqlite://" + path
	case "postgres":
		return servicetest.PostgresURL(t)
	case "mariadb", "mysql":
		return emptied.url(t, db)
	default:
		t.Fatalf("BOXOFFICE_TEST_DB is %q; give sqlite, postgres, mariadb or mysql", db)
		return ""
	}
}

// fresh is a database as the first start leaves it. Making one takes a second under
// the race detector, copying it almost no time.
var fresh = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "boxtest-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system's folder for such
	path := filepath.Join(dir, "boxoffice.db")
	s, err := store.Open(context.Background(), "sqlite://"+path)
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// Copy writes a fresh database to path.
func Copy(t testing.TB, path string) {
	t.Helper()
	b, err := fresh()
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Open opens the database at url, as a second process would.
func Open(t testing.TB, url string) *Box {
	t.Helper()
	s, err := store.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	b := &Box{URL: url, Store: s, Outbox: &Outbox{}}
	if b.Catalog, err = catalog.New(s, b.Outbox); err != nil {
		t.Fatal(err)
	}
	if b.Payments, err = payment.New(s, b.Outbox); err != nil {
		t.Fatal(err)
	}
	if b.Booking, err = booking.New(s, b.Catalog, b.Outbox, b.Payments, booking.Config{Holder: "test"}); err != nil {
		t.Fatal(err)
	}
	b.Payments.SetReservations(b.Booking)
	keys, err := ticket.ParseKeys(TicketKeys)
	if err != nil {
		t.Fatal(err)
	}
	if b.Door, err = ticket.New(s, keys); err != nil {
		t.Fatal(err)
	}
	if b.Stats, err = stats.New(s); err != nil {
		t.Fatal(err)
	}
	b.Deltas = memcounter.New()
	if b.Social, err = social.New(s, b.Catalog, b.Outbox, b.Deltas, social.Config{Holder: "test"}); err != nil {
		t.Fatal(err)
	}
	if err := b.Social.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.Social.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Catalog.SetPending(b.Social.Pending)
	if b.Inbox, err = inbox.New(s, inbox.Config{Holder: "test"}); err != nil {
		t.Fatal(err)
	}
	return b
}

// Outbox remembers the events of committed transactions.
type Outbox struct {
	mu     sync.Mutex
	events []event.Event
	saw    map[[2]string]bool // every event there was, by type and subject
}

// Append implements the parts' Appender.
func (o *Outbox) Append(ctx context.Context, _ sqltx.Execer, all ...event.Event) error {
	for _, e := range all {
		if err := e.Validate(); err != nil {
			return err
		}
	}
	ok := sqltx.AfterCommit(ctx, func() {
		o.mu.Lock()
		o.events = append(o.events, all...)
		if o.saw == nil {
			o.saw = map[[2]string]bool{}
		}
		for _, e := range all {
			o.saw[[2]string{e.Type, e.AggregateID}] = true
		}
		o.mu.Unlock()
	})
	if !ok {
		return fmt.Errorf("boxtest: an append outside a transaction")
	}
	return nil
}

// Saw reports whether there ever was an event of the type about something. The rows
// of a transaction are visible a moment before its events.
func (o *Outbox) Saw(typ, about string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.saw[[2]string{typ, about}]
}

// Take returns the events since the last call.
func (o *Outbox) Take() []event.Event {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.events
	o.events = nil
	return all
}

// Consumers are the consumers of all parts.
func (b *Box) Consumers() []store.Consumer {
	all := b.Booking.Consumers()
	all = append(all, b.Catalog.Consumers()...)
	all = append(all, b.Payments.Consumers()...)
	all = append(all, b.Stats.Consumers()...)
	all = append(all, b.Social.Consumers()...)
	return append(all, b.Inbox.Consumers()...)
}

// Topic is the topic of an event.
func Topic(e event.Event) string {
	return map[string]string{
		"payment": events.Payments, "reservation": events.Reservations,
		"transfer": events.Transfers, "membership": events.Memberships,
		"like": events.Likes, "order": events.Orders, "product": events.Products, "stock": events.Stock,
		"chat": events.Domain, "comment": events.Domain, "notice": events.Domain,
	}[e.AggregateType]
}

// Handle lets one group handle an event and returns the effect's name, "" when the
// group does not handle such events.
func (b *Box) Handle(ctx context.Context, group string, e event.Event) (effect string, err error) {
	for _, c := range b.Consumers() {
		h, ok := c.Handlers[e.Type]
		if c.Batch != nil && slices.Contains(c.BatchTypes, e.Type) {
			h, ok = alone(c), true
		}
		if c.Group != group || c.Topic != Topic(e) || !ok {
			continue
		}
		err = b.Store.Write(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
			if effect, err = h(ctx, tx, e); err != nil {
				return err
			}
			return b.Store.RecordEffects(ctx, tx, group, effect, e)
		})
	}
	return effect, err
}

// alone is a batch of one.
func alone(c store.Consumer) store.Handler {
	return func(ctx context.Context, tx *sql.Tx, e event.Event) (string, error) {
		if c.Check != nil {
			if err := c.Check(e); err != nil {
				return "", err
			}
		}
		return c.Batch(ctx, tx, []event.Event{e})
	}
}

// Must is Handle for a test that wants a certain effect.
func (b *Box) Must(t testing.TB, group string, e event.Event, effect string) {
	t.Helper()
	got, err := b.Handle(t.Context(), group, e)
	if err != nil {
		t.Fatalf("%s of %s: %v", e.Type, group, err)
	}
	if got != effect {
		t.Fatalf("%s of %s had the effect %q, want %q", e.Type, group, got, effect)
	}
}

// Deliver lets every group handle the events, and the events that follow from them,
// until none is left.
func (b *Box) Deliver(t testing.TB, all ...event.Event) {
	t.Helper()
	for len(all) > 0 {
		for _, e := range all {
			for _, c := range b.Consumers() {
				if c.Topic != Topic(e) {
					continue
				}
				if _, err := b.Handle(t.Context(), c.Group, e); err != nil {
					t.Fatalf("%s of %s: %v", e.Type, c.Group, err)
				}
			}
		}
		all = b.Outbox.Take()
	}
}

// Exec changes rows without the parts. The query may use now_ms().
func (b *Box) Exec(t testing.TB, query string, args ...any) {
	t.Helper()
	var rewritten struct{ Query string }
	if err := b.Store.Load("-- name: Query\n"+query, &rewritten); err != nil {
		t.Fatal(err)
	}
	query = rewritten.Query
	res, err := b.Store.DB().ExecContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		t.Fatalf("%s changed %d rows (%v)", query, n, err)
	}
}

// Query returns the one value that a query finds, as text.
func (b *Box) Query(t testing.TB, query string, args ...any) string {
	t.Helper()
	var v sql.NullString
	if err := b.Store.Reader().QueryRowContext(t.Context(), query, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v.String
}

// Seat returns a seat's status.
func (b *Box) Seat(t testing.TB, show, seat string) string {
	t.Helper()
	return b.Query(t, `SELECT status FROM seats WHERE show_id = $1 AND seat_id = $2`, show, seat)
}

// Reserve holds seats of show-1.
func (b *Box) Reserve(t testing.TB, member string, seats ...string) booking.Reservation {
	t.Helper()
	r, err := b.Booking.Reserve(t.Context(), member, "show-1", seats)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Expire moves the end of a hold into the past.
func (b *Box) Expire(t testing.TB, reservation string) {
	t.Helper()
	b.Exec(t, `UPDATE reservations SET hold_expires_at = 1 WHERE reservation_id = $1`, reservation)
}

// Status returns a reservation's status and reason.
func (b *Box) Status(t testing.TB, reservation string) string {
	t.Helper()
	return b.Query(t, `SELECT status || CASE WHEN reason IS NULL THEN '' ELSE ' ' || reason END FROM reservations WHERE reservation_id = $1`, reservation)
}

// In runs a handler in a transaction.
func (b *Box) In(t testing.TB, h store.Handler, e event.Event) error {
	t.Helper()
	return b.Store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := h(ctx, tx, e)
		return err
	})
}
