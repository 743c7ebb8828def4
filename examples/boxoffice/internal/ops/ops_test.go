package ops_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/membus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ledger is a gateway with the charges that a test sets.
type ledger struct {
	mu      sync.Mutex
	charges []payment.Charge
	totals  payment.Ledger
	down    bool
	asked   func() // is called before each answer; nil for nothing
}

func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if l.asked != nil {
		l.asked()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	var body any = l.totals
	if r.URL.Path == "/ledger/charges" {
		body = map[string]any{"charges": l.charges, "next": 0}
	}
	_ = json.NewEncoder(w).Encode(body) // a test's own connection
}

// charge adds the charge that belongs to a payment.
func (l *ledger) charge(p payment.Payment, status string, refunded bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.charges = append(l.charges, payment.Charge{Key: p.Key, ID: "g-" + p.ID, Status: status, Amount: p.Amount, Refunded: refunded})
}

// desk is an operator's view of a fresh box office.
type desk struct {
	*boxtest.Box
	bus       *bus.Bus
	outbox    *outbox.Outbox
	published *ops.Published
	ledger    *ledger
	ops       *ops.Ops
}

func newDesk(t *testing.T, change func(*ops.Config)) *desk {
	t.Helper()
	return deskOn(t, boxtest.New(t), change)
}

// sound is a box office with a history and its books in order. In a file the
// history is made once and copied.
func sound(t *testing.T) *desk {
	t.Helper()
	if db := os.Getenv("BOXOFFICE_TEST_DB"); db != "" && db != "sqlite" {
		d := newDesk(t, nil)
		d.history(t)
		return d
	}
	past.once.Do(func() {
		d := newDesk(t, nil)
		d.history(t)
		path := filepath.Join(t.TempDir(), "past.db")
		_, err := d.Store.DB().ExecContext(t.Context(), `VACUUM INTO '`+path+`'`)
		require.NoError(t, err)
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		past.file, past.charges = b, d.ledger.charges
	})
	if past.file == nil {
		t.Fatal("the history could not be made; see the test that failed first")
	}
	path := filepath.Join(t.TempDir(), "boxoffice.db")
	require.NoError(t, os.WriteFile(path, past.file, 0o600))
	d := deskOn(t, boxtest.Open(t, "sqlite://"+path), nil)
	d.ledger.charges = slices.Clone(past.charges)
	return d
}

var past struct {
	once    sync.Once
	file    []byte
	charges []payment.Charge
}

func deskOn(t *testing.T, box *boxtest.Box, change func(*ops.Config)) *desk {
	t.Helper()
	d := &desk{Box: box, ledger: &ledger{}}
	var err error
	d.bus, err = bus.Open(t.Context(), "mem://", membus.Scheme())
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, d.bus.Close())
	})
	events := boxtest.Events(t, d.Store)
	if d.outbox, err = outbox.New(events, outbox.Config{Topic: "payment.events"}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(d.ledger)
	t.Cleanup(server.Close)
	gateway := payment.NewGateway(server.URL, 10*time.Second, 1)
	t.Cleanup(gateway.Close)
	if d.published, err = ops.NewPublished(d.Store, nil); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, d.published.Migrate(t.Context()))
	cfg := ops.Config{
		Store: d.Store, Stats: d.Stats, Outbox: events, Published: d.published, Bus: d.bus, Gateway: gateway, Every: 10 * time.Millisecond,
	}
	for _, c := range d.Consumers() {
		cfg.Consumers = append(cfg.Consumers, ops.Consumer{Topic: c.Topic, Group: c.Group, DeadLetters: "dlq." + strings.TrimSuffix(c.Topic, ".events")})
		require.NoError(t, d.bus.Declare(t.Context(), bus.Topic{Name: c.Topic, Groups: []string{c.Group}}))
	}
	if change != nil {
		change(&cfg)
	}
	if d.ops, err = ops.New(cfg); err != nil {
		t.Fatal(err)
	}
	return d
}

// history makes one of everything that can happen, with the books in order.
func (d *desk) history(t *testing.T) {
	t.Helper()
	pay := func(r booking.Reservation, card string) payment.Payment { return d.Pay(t, r, card) }
	// Two tickets, one of them transferred; one refunded; one declined; one late; one cancelled; one held; a member.
	kept := d.Reserve(t, "ann", "A-1", "A-2")
	p := pay(kept, boxtest.Approve)
	d.ledger.charge(p, "APPROVED", false)
	d.Deliver(t, append(d.Outbox.Take(), d.Paid(t, p))...)

	handed := d.Reserve(t, "ann", "B-1")
	p = pay(handed, boxtest.Approve)
	d.ledger.charge(p, "APPROVED", false)
	d.Deliver(t, append(d.Outbox.Take(), d.Paid(t, p))...)
	p, err := d.Payments.Start(t.Context(), payment.Request{Key: "t", Member: "ann", Type: events.ForTransfer, ReservationID: handed.ID, ToMember: "bob", Amount: handed.Amount, Card: boxtest.Approve})
	require.NoError(t, err)
	_, err = d.Payments.Accept(t.Context(), "bob", p.ReferenceID)
	require.NoError(t, err)
	d.ledger.charge(p, "APPROVED", false)
	d.Deliver(t, append(d.Outbox.Take(), d.Paid(t, p))...)

	back := d.Reserve(t, "cid", "C-1")
	p = pay(back, boxtest.Approve)
	d.ledger.charge(p, "APPROVED", true)
	d.Deliver(t, append(d.Outbox.Take(), d.Paid(t, p))...)
	_, err = d.Payments.Refund(t.Context(), "cid", p.ID)
	require.NoError(t, err)
	d.Deliver(t, append(d.Outbox.Take(), d.PaidBack(t, p))...)

	declined := d.Reserve(t, "dan", "D-1")
	p = pay(declined, boxtest.Decline)
	d.ledger.charge(p, "DECLINED", false)
	d.Deliver(t, append(d.Outbox.Take(), d.NotPaid(t, p))...)

	late := d.Reserve(t, "eve", "E-1")
	p = pay(late, boxtest.Timeout)
	d.ledger.charge(p, "APPROVED", true)
	_, err = d.Booking.Cancel(t.Context(), "eve", late.ID)
	require.NoError(t, err)
	d.Deliver(t, append(d.Outbox.Take(), d.Paid(t, p))...)
	d.Deliver(t, append(d.Outbox.Take(), d.PaidBack(t, p))...)

	p, err = d.Payments.Start(t.Context(), payment.Request{Key: "m", Member: "ann", Type: events.ForMembership, Amount: payment.MembershipPrice, Card: boxtest.Approve})
	require.NoError(t, err)
	d.ledger.charge(p, "APPROVED", false)
	d.Deliver(t, append(d.Outbox.Take(), d.Paid(t, p))...)

	d.Reserve(t, "fay", "F-1")
	d.Deliver(t, d.Outbox.Take()...)

	// Three comments, one of them deleted, all counted; and two messages in a room.
	d.comment(t, "ann", "show-1")
	d.comment(t, "bob", "show-1")
	require.NoError(t, d.Social.DeleteComment(t.Context(), "cid", d.comment(t, "cid", "show-1")))
	d.Deliver(t, d.Outbox.Take()...)
	_, err = d.Social.Flush(t.Context())
	require.NoError(t, err)
	d.Exec(t, `UPDATE comments SET created_at = 1, deleted_at = CASE WHEN deleted_at IS NULL THEN NULL ELSE 1 END`)
	d.Exec(t, `INSERT INTO chat_rooms (room_id, last_seq) VALUES ('show-1', 2), ('show-2', 0)`)
	d.Exec(t, `INSERT INTO chat_messages (room_id, seq, message_id, sender_id, message, sent_at) VALUES ('show-1', 1, 'm1', 'ann', 'hi', 1), ('show-1', 2, 'm2', 'bob', 'hi', 2)`)
}

// offered is the payment of a ticket that ann offers to cid.
func offered(t *testing.T, d *desk) payment.Payment {
	t.Helper()
	id := d.Query(t, `SELECT reservation_id FROM reservations WHERE status = 'CONFIRMED' AND member_id = 'ann'`)
	r, err := d.Booking.Get(t.Context(), "ann", id)
	require.NoError(t, err)
	p, err := d.Payments.Start(t.Context(), payment.Request{Key: "offer", Member: "ann", Type: events.ForTransfer, ReservationID: r.ID, ToMember: "cid", Amount: r.Amount, Card: boxtest.Approve})
	require.NoError(t, err)
	d.Deliver(t, d.Outbox.Take()...)
	return p
}

func offer(t *testing.T, d *desk) { offered(t, d) }

// decline ends the open offer.
func (d *desk) decline(t *testing.T) {
	t.Helper()
	_, err := d.Payments.Decline(t.Context(), "cid", d.Query(t, `SELECT transfer_id FROM transfers WHERE status = 'PENDING'`))
	require.NoError(t, err)
	d.Deliver(t, d.Outbox.Take()...)
}

func (d *desk) comment(t *testing.T, member, show string) (id string) {
	t.Helper()
	c, err := d.Social.Comment(t.Context(), member, show, "I was there")
	require.NoError(t, err)
	return c.ID
}

func (d *desk) audit(t *testing.T) ops.Audit {
	t.Helper()
	a, err := d.ops.AuditNow(t.Context())
	require.NoError(t, err)
	return a
}

// broken are the names of the checks that fail.
func broken(a ops.Audit) (names []string) {
	for _, c := range a.Checks {
		if !c.OK {
			names = append(names, c.Name)
		}
	}
	return names
}

func TestSound(t *testing.T) {
	for db, url := range map[string]func(testing.TB) string{
		"sqlite": boxtest.URL, "postgres": servicetest.PostgresURL, "mariadb": servicetest.MariaDBURL, "mysql": servicetest.MySQLURL,
	} {
		t.Run(db, func(t *testing.T) { wantSound(t, deskOn(t, boxtest.Open(t, url(t)), nil)) })
	}
}

func wantSound(t *testing.T, d *desk) {
	t.Helper()
	if a := d.audit(t); !a.OK || !a.Quiescent || len(a.Checks) != 14 {
		t.Errorf("an empty box office: %+v", a)
	}
	d.history(t)
	a := d.audit(t)
	if !a.OK || !a.Quiescent {
		t.Fatalf("%+v", a)
	}
	assert.Equal(t, "4 successes − 2 refunds = 2 confirmed reservations", a.Checks[3].Detail, "money")
}

func TestEachCheckCanFail(t *testing.T) {
	publish := func(topic string) func(*testing.T, *desk) {
		return func(t *testing.T, d *desk) {
			require.NoError(t, d.bus.Publisher().Publish(topic, message.NewMessage("1", []byte("x"))))
		}
	}
	run := func(query string) func(*testing.T, *desk) {
		return func(t *testing.T, d *desk) { d.Exec(t, query) }
	}
	for name, c := range map[string]struct {
		breaks func(t *testing.T, d *desk)
		want   []string // these and no others fail
		moving bool
	}{
		"a sold seat of nobody":       {run(`UPDATE seats SET status = 'SOLD', reservation_id = 'nobody' WHERE show_id = 'show-2' AND seat_id = 'A-1'`), []string{"sold-seats"}, false},
		"a ticket without its seat":   {run(`UPDATE seats SET status = 'AVAILABLE', reservation_id = NULL WHERE show_id = 'show-1' AND seat_id = 'A-1'`), []string{"sold-seats"}, false},
		"a ticket for another's seat": {run(`UPDATE seats SET reservation_id = (SELECT reservation_id FROM seats WHERE show_id = 'show-1' AND seat_id = 'A-1') WHERE show_id = 'show-1' AND seat_id = 'B-1'`), []string{"sold-seats"}, false},
		"a seat sold twice":           {run(`INSERT INTO reservation_seats SELECT r.reservation_id, 'show-1', 'A-1', 1, 150000 FROM reservations r WHERE r.status = 'CONFIRMED' AND r.transferred_at IS NOT NULL`), []string{"sold-seats", "seat-sold-once"}, false},
		"a hold of nobody":            {run(`UPDATE seats SET status = 'HOLD', reservation_id = 'nobody', hold_expires_at = 1 WHERE show_id = 'show-2' AND seat_id = 'A-1'`), []string{"held-seats"}, false},
		"a hold without its seat":     {run(`UPDATE seats SET status = 'AVAILABLE', reservation_id = NULL, hold_expires_at = NULL WHERE status = 'HOLD'`), []string{"held-seats"}, false},
		"a ticket without money":      {run(`UPDATE payments SET reference_id = 'other' WHERE type = 'reservation' AND status = 'SUCCESS' AND reference_id = (SELECT reservation_id FROM reservations WHERE status = 'CONFIRMED' AND transferred_at IS NULL)`), []string{"money"}, false},
		"money without a ticket":      {run(`UPDATE reservations SET status = 'CANCELLED', reason = 'USER_REQUEST', cancelled_at = 1 WHERE status = 'CONFIRMED' AND transferred_at IS NULL`), []string{"sold-seats", "money", "statistics", "nothing-lost"}, false},
		"money without a transfer":    {run(`UPDATE transfers SET status = 'CANCELLED', reason = 'LATE'`), []string{"money", "statistics", "nothing-lost"}, false},
		"a transfer without a ticket": {run(`UPDATE reservations SET member_id = 'another' WHERE transferred_at IS NOT NULL`), []string{"money"}, false},
		"a ticket that is passed on again": {func(t *testing.T, d *desk) {
			id := d.Query(t, `SELECT reservation_id FROM reservations WHERE status = 'CONFIRMED' AND member_id = 'bob'`)
			p, err := d.Payments.Start(t.Context(), payment.Request{Key: "again", Member: "bob", Type: events.ForTransfer, ReservationID: id, ToMember: "cid", Amount: 150_000, Card: boxtest.Approve})
			require.NoError(t, err)
			_, err = d.Payments.Accept(t.Context(), "cid", p.ReferenceID)
			require.NoError(t, err)
			d.ledger.charge(p, "APPROVED", false)
			d.Deliver(t, append(d.Outbox.Take(), d.Paid(t, p))...)
		}, nil, false},
		"money without a membership":  {run(`UPDATE memberships SET status = 'CANCELLED', activated_at = NULL`), []string{"money", "statistics", "nothing-lost"}, false},
		"a wrong counter":             {run(`UPDATE stats SET value = value + 1 WHERE name = 'refund_amount'`), []string{"statistics"}, false},
		"a counter that is gone":      {run(`DELETE FROM stats WHERE name = 'refund_amount'`), []string{"statistics"}, false},
		"a missing count":             {run(`UPDATE stats SET value = value - 1 WHERE name = 'reservations_created'`), []string{"statistics"}, false},
		"an effect twice":             {run(`INSERT INTO effects (consumer_group, event_id, event_type, aggregate_id, effect, handled_at) SELECT consumer_group, event_id, event_type, aggregate_id, effect, 1 FROM effects LIMIT 1`), []string{"handled-once"}, false},
		"an effect lost":              {run(`DELETE FROM effects WHERE effect_id = (SELECT MIN(effect_id) FROM effects WHERE consumer_group = 'event-payment-consumer')`), []string{"nothing-lost"}, false},
		"a sale that is not counted":  {run(`DELETE FROM effects WHERE effect_id = (SELECT MIN(effect_id) FROM effects WHERE consumer_group = 'order-service-group')`), []string{"nothing-lost"}, false},
		"a comment that no one heard": {run(`DELETE FROM effects WHERE effect_id = (SELECT MIN(effect_id) FROM effects WHERE consumer_group = 'aggregate_queue')`), []string{"nothing-lost"}, false},
		"a comment nobody is told of": {run(`DELETE FROM effects WHERE effect_id = (SELECT MIN(effect_id) FROM effects WHERE consumer_group = 'notification_queue' AND event_type = 'CommentCreated')`), []string{"nothing-lost"}, false},
		"a vote whose end is untold":  {run(`UPDATE votes SET closed_at = 1 WHERE show_id = 'show-1'`), []string{"nothing-lost"}, false},
		"a comment too many":          {run(`UPDATE shows SET comment_count = comment_count + 1 WHERE show_id = 'show-1'`), []string{"comment-counts"}, false},
		"comments of nobody":          {run(`UPDATE shows SET comment_count = 1 WHERE show_id = 'show-2'`), []string{"comment-counts"}, false},
		"a deleted comment counted":   {run(`UPDATE comments SET deleted_at = NULL`), []string{"nothing-lost", "comment-counts"}, false},
		"a comment not yet counted": {func(t *testing.T, d *desk) {
			d.comment(t, "guy", "show-2")
			d.Deliver(t, d.Outbox.Take()...)
		}, nil, true},
		"a comment not yet uncounted": {run(`UPDATE comments SET deleted_at = now_ms() WHERE member_id = 'ann'`), []string{"nothing-lost"}, true},
		"a message that is gone":      {run(`DELETE FROM chat_messages WHERE seq = 1`), []string{"chat-places"}, false},
		"the last message gone":       {run(`DELETE FROM chat_messages WHERE seq = 2`), []string{"chat-places"}, false},
		"a place left out":            {run(`UPDATE chat_messages SET seq = 3 WHERE seq = 2`), []string{"chat-places"}, false},
		"a place before the first":    {run(`UPDATE chat_messages SET seq = 0 WHERE seq = 1`), []string{"chat-places"}, false},
		"messages of no room":         {run(`DELETE FROM chat_rooms WHERE room_id = 'show-1'`), []string{"chat-places"}, false},
		"a hold that nobody ends":     {run(`UPDATE reservations SET hold_expires_at = 1 WHERE status = 'PENDING'`), []string{"nothing-stuck"}, true},
		"a payment that nobody settles": {func(t *testing.T, d *desk) {
			p := d.Pay(t, d.Reserve(t, "guy", "G-1"), boxtest.Approve)
			d.Deliver(t, d.Outbox.Take()...)
			d.Exec(t, `UPDATE payments SET created_at = 1 WHERE payment_id = $1`, p.ID)
		}, []string{"nothing-stuck"}, true},
		"an open offer":           {offer, nil, false},
		"an offer that was ended": {func(t *testing.T, d *desk) { offer(t, d); d.decline(t) }, nil, false},
		"an offer that nobody ends": {func(t *testing.T, d *desk) {
			offer(t, d)
			d.Exec(t, `UPDATE transfers SET expires_at = 1 WHERE status = 'PENDING'`)
		}, []string{"nothing-stuck"}, true},
		"an offer that was charged": {func(t *testing.T, d *desk) {
			d.ledger.charge(offered(t, d), "APPROVED", false)
			d.decline(t)
		}, []string{"gateway-ledger"}, false},
		"a refund that nobody gives": {func(t *testing.T, d *desk) {
			d.Exec(t, `UPDATE payments SET refund_state = 'REQUESTED', refund_reason = 'LATE', refund_asked_at = 1 WHERE payment_id = (SELECT payment_id FROM reservations WHERE status = 'CONFIRMED' AND transferred_at IS NULL)`)
		}, []string{"nothing-stuck"}, true},
		"an event in the outbox": {func(t *testing.T, d *desk) {
			err := d.Store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				e, err := event.New("Stray", "/test", nil)
				if err != nil {
					return err
				}
				var x sqltx.Execer = tx
				return d.outbox.Append(ctx, x, e)
			})
			require.NoError(t, err)
		}, []string{"outbox-drained"}, true},
		"a message on a topic":  {publish("payment.events"), []string{"consumers-drained"}, true},
		"a dead letter":         {publish("dlq.payment"), []string{"no-dead-letters"}, false},
		"an unreachable ledger": {func(_ *testing.T, d *desk) { d.ledger.down = true }, []string{"gateway-ledger"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := sound(t)
			c.breaks(t, d)
			a := d.audit(t)
			if got := broken(a); !slices.Equal(got, c.want) || a.OK != (c.want == nil) {
				t.Errorf("broken are %v, want %v: %+v", got, c.want, a)
			}
			if a.Quiescent == c.moving {
				t.Errorf("quiescent: %v", a.Quiescent)
			}
		})
	}
}

// A payment is stuck when the gateway takes longer to decide than it may, and its hold with it.
func TestStuckByPaymentLimit(t *testing.T) {
	for limit, breaches := range map[time.Duration]int{10 * time.Minute: 0, 2 * time.Minute: 1, time.Second: 2} {
		d := newDesk(t, func(c *ops.Config) { c.PaymentLimit = limit })
		p := d.Pay(t, d.Reserve(t, "ann", "A-1"), boxtest.Approve)
		d.Deliver(t, d.Outbox.Take()...)
		d.Exec(t, `UPDATE payments SET created_at = now_ms() - 300000 WHERE payment_id = $1`, p.ID)
		d.Exec(t, `UPDATE reservations SET hold_expires_at = now_ms() - 60000`)
		a := d.audit(t)
		if a.OK != (breaches == 0) {
			t.Errorf("after 5 min of %s: broken are %v", limit, broken(a))
		}
		for _, c := range a.Checks {
			if got := strings.Count(c.Detail, "PROCESSING for") + strings.Count(c.Detail, "PENDING though"); c.Name == "nothing-stuck" && got != breaches {
				t.Errorf("after 5 min of %s: %q, want %d breaches", limit, c.Detail, breaches)
			}
		}
	}
}

// The detail says what is stuck, and since when.
func TestStuckDetail(t *testing.T) {
	d := newDesk(t, nil)
	open, refund := d.Pay(t, d.Reserve(t, "ann", "A-1"), boxtest.Approve), d.Pay(t, d.Reserve(t, "ann", "A-2"), boxtest.Approve)
	d.Exec(t, `UPDATE payments SET created_at = now_ms() - 3000000 WHERE payment_id = $1`, open.ID)
	d.Exec(t, `UPDATE payments SET status = 'SUCCESS', settled_at = 1, refund_state = 'REQUESTED', refund_reason = 'LATE', refund_asked_at = now_ms() - 3000000 WHERE payment_id = $1`, refund.ID)
	for _, c := range d.audit(t).Checks {
		if c.Name == "nothing-stuck" && (!strings.Contains(c.Detail, open.ID+" has been PROCESSING for 300") || !strings.Contains(c.Detail, refund.ID+" was asked for 300")) {
			t.Errorf("%q", c.Detail)
		}
	}
}

func TestLedgerDisagrees(t *testing.T) {
	at := func(d *desk, status string, refunded bool) *payment.Charge {
		i := slices.IndexFunc(d.ledger.charges, func(c payment.Charge) bool { return c.Status == status && c.Refunded == refunded })
		return &d.ledger.charges[i]
	}
	for name, c := range map[string]struct {
		breaks func(d *desk)
		word   string
	}{
		"a charge that no payment has": {func(d *desk) {
			d.ledger.charges = append(d.ledger.charges, payment.Charge{Key: "stray", Status: "APPROVED", Amount: 5})
		}, "stray"},
		"a key charged twice":             {func(d *desk) { d.ledger.charges = append(d.ledger.charges, d.ledger.charges[0]) }, "twice"},
		"another amount":                  {func(d *desk) { d.ledger.charges[0].Amount++ }, "charged 300001"},
		"a charge that is missing":        {func(d *desk) { d.ledger.charges = d.ledger.charges[1:] }, "knows nothing"},
		"declined, and we say success":    {func(d *desk) { at(d, "APPROVED", false).Status = "DECLINED" }, "is SUCCESS"},
		"approved, and we say failed":     {func(d *desk) { at(d, "DECLINED", false).Status = "APPROVED" }, "is FAILED"},
		"refunded, and we say success":    {func(d *desk) { at(d, "APPROVED", false).Refunded = true }, "is SUCCESS"},
		"not refunded, and we say we did": {func(d *desk) { at(d, "APPROVED", true).Refunded = false }, "is REFUNDED"},
		"pending, and we say success":     {func(d *desk) { at(d, "APPROVED", false).Status = "PENDING" }, "PENDING"},
		"its own count of duplicates":     {func(d *desk) { d.ledger.totals.DuplicateKeys = 1 }, "1 keys"},
		"two charges for one thing":       {func(d *desk) { d.ledger.totals.DuplicateReferences = 1 }, "more than once"},
	} {
		d := sound(t)
		c.breaks(d)
		a := d.audit(t)
		if got := broken(a); !slices.Equal(got, []string{"gateway-ledger"}) {
			t.Errorf("%s: broken are %v", name, got)
			continue
		}
		for _, check := range a.Checks {
			if !check.OK && !strings.Contains(check.Detail, c.word) {
				t.Errorf("%s: %s", name, check.Detail)
			}
		}
	}
}

// A refused charge is not in the ledger, and one in flight may or may not be.
func TestLedgerOfOpenPayments(t *testing.T) {
	d := newDesk(t, nil)
	refused := d.Pay(t, d.Reserve(t, "ann", "A-1"), boxtest.Approve)
	open := d.Pay(t, d.Reserve(t, "ann", "A-2"), boxtest.Approve)
	d.Pay(t, d.Reserve(t, "ann", "A-3"), boxtest.Approve)
	d.ledger.charge(open, "PENDING", false)
	d.Deliver(t, append(d.Outbox.Take(), d.NotPaid(t, refused))...)
	d.Exec(t, `UPDATE payments SET failure_reason = $2 WHERE payment_id = $1`, refused.ID, payment.GatewayRefused)
	if a := d.audit(t); !a.OK || a.Quiescent {
		t.Errorf("%+v", a)
	}
}

// A payment that begins while the gateway's ledger is read is in the ledger and not in
// the snapshot of the tables.
func TestPaymentDuringAudit(t *testing.T) {
	d := sound(t)
	r := d.Reserve(t, "gil", "G-1")
	d.Deliver(t, d.Outbox.Take()...)
	var once sync.Once
	d.ledger.asked = func() {
		once.Do(func() { d.ledger.charge(d.Pay(t, r, boxtest.Approve), "APPROVED", false) })
	}
	if a := d.audit(t); a.OK || a.Quiescent || !slices.Equal(broken(a), []string{"gateway-ledger"}) {
		t.Errorf("%+v", a)
	}
	if a := d.audit(t); !a.OK || a.Quiescent {
		t.Errorf("the next one: %+v", a)
	}
}

func TestReport(t *testing.T) {
	d := newDesk(t, func(c *ops.Config) {
		c.Status = func() []bus.ConsumerStatus {
			return []bus.ConsumerStatus{{Topic: events.Payments, Group: events.GroupSold, Running: true, Paused: true, InFlight: 1, Handled: 2, Retried: 3, DeadLettered: 4, LastError: "why"}}
		}
		c.Executor = func() payment.ExecutorStatus { return payment.ExecutorStatus{InFlight: 5, Approved: 6} }
		c.Duplicates = func(ops.Consumer) int64 { return 7 }
	})
	d.history(t)
	letter := message.NewMessage("letter", []byte("not an event"))
	letter.Metadata = message.Metadata{driver.DLQGroup: "g", driver.DLQReason: "r", driver.DLQClass: "permanent", driver.DLQError: "e", driver.DLQLastFailure: "2026-01-02T03:04:05Z"}
	require.NoError(t, d.bus.Publisher().Publish("dlq.payment", letter))
	d.published.Add(9)
	report, err := d.ops.ReportNow(t.Context())
	require.NoError(t, err)
	text, err := json.Marshal(report)
	require.NoError(t, err)
	for _, want := range []string{
		`"outbox":{"backlog":0,"oldestAgeSeconds":0,"published":9,"failed":0,"holder":""}`,
		`{"topic":"payment.events","group":"event-payment-consumer","state":"paused","inFlight":1,"handled":2,"duplicates":7,"retried":3,"deadLettered":4,"lag":0,"lastError":"why"}`,
		`"state":"elsewhere"`,
		`{"topic":"dlq.payment","count":1,"recent":[{"id":"letter","type":"","key":"","originalTopic":"","group":"g","reason":"r","class":"permanent","error":"e","attempts":0,"redrives":0,"edits":0,"at":"2026-01-02T03:04:05Z"}],"ageSeconds":0}`, `"lag":{"state":"known","ageSeconds":0,"error":""}`,
		`"refundAmount":`, `"reservationsConfirmed":3`, `"reachable":true`, `"inFlight":5`, `"ledger":{"charges":0`,
	} {
		assert.Containsf(t, string(text), want, "%s is missing in %s", want, text)
	}
	d.ledger.down = true
	if report, err = d.ops.Report(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text, err = json.Marshal(report); err != nil || !strings.Contains(string(text), `"reachable":false`) || !strings.Contains(string(text), `"ledger":null`) {
		t.Errorf("without a gateway: %s, %v", text, err)
	}
}

func TestMetrics(t *testing.T) {
	d := newDesk(t, func(c *ops.Config) {
		c.Executor = func() payment.ExecutorStatus { return payment.ExecutorStatus{Approved: 6} }
	})
	requests := ops.NewRequests()
	requests.Observe("/api/login", "POST", 200, 30*time.Millisecond)
	requests.Observe("/api/login", "POST", 200, 20*time.Second)
	// The transport was not asked yet, and each series is there.
	holds(t, "the first scrape", d.scrape(t, requests),
		`millrace_outbox_backlog{shard="0"} 0`, `millrace_outbox_published_total{topic="payment.events"} 0`, `millrace_consumer_lag{group="event-payment-consumer",topic="payment.events"} 0`,
		"millrace_consumer_lag_age_seconds ", `millrace_dead_letters{topic="dlq.transfer"} 0`, `payments_total{outcome="approved"} 6`,
		`http_requests_total{code="200",method="POST",route="/api/login"} 2`,
		`http_request_duration_seconds_bucket{route="/api/login",le="0.05"} 1`, `http_request_duration_seconds_bucket{route="/api/login",le="+Inf"} 2`,
		"# TYPE http_request_duration_seconds histogram\n",
	)
	d.bury(t, 3)
	require.NoError(t, d.bus.Publisher().Publish(events.Payments, message.NewMessage("1", []byte("x"))))
	for range 2 {
		d.ops.RelayHooks().Published(0, events.Payments, time.Millisecond)
	}
	require.NoError(t, d.Store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		e, err := event.New("Stray", "/test", nil)
		if err != nil {
			return err
		}
		return d.outbox.Append(ctx, tx, e)
	}))
	d.run(t)
	var text string
	boxtest.WaitFor(t, "the figures", func() bool {
		text = d.scrape(t, requests)
		return strings.Contains(text, `millrace_consumer_lag{group="event-payment-consumer",topic="payment.events"} 1`) &&
			strings.Contains(text, `millrace_dead_letters{topic="dlq.payment"} 3`) && strings.Contains(text, `millrace_outbox_published_total{topic="payment.events"} 2`) &&
			strings.Contains(text, `millrace_outbox_backlog{shard="0"} 1`)
	}, func() string { return text })
	if own := d.published.Own(); own != 2 {
		t.Errorf("the relays of all processes count %d of this one, want 2", own)
	}
}

// Concurrent callers share audits, and no caller gets an old one.
func TestAuditsAreShared(t *testing.T) {
	d := newDesk(t, nil)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if a, err := d.ops.AuditNow(context.Background()); err != nil || !a.OK {
				t.Errorf("%+v, %v", a, err)
			}
		})
	}
	wg.Wait()
	d.Exec(t, `UPDATE stats SET value = 1 WHERE name = 'memberships'`)
	if a := d.audit(t); a.OK {
		t.Error("an audit from before the change was given out")
	}
}

func TestConfigIsChecked(t *testing.T) {
	if _, err := ops.New(ops.Config{}); err == nil {
		t.Error("an empty configuration was accepted")
	}
}
