package stats_test

import (
	"testing"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/fault"
)

func TestMain(m *testing.M) { boxtest.Main(m) }

func TestCounters(t *testing.T) {
	b := boxtest.New(t)
	handle := func(typ, about string, data any) {
		t.Helper()
		e, err := events.New(typ, about, "1", "ann", true, data)
		if err != nil {
			t.Fatal(err)
		}
		b.Must(t, events.GroupStats, e, "counted")
	}
	handle(events.ReservationCreated, "reservation", nil)
	handle(events.ReservationCreated, "reservation", nil)
	handle(events.ReservationConfirmed, "reservation", nil)
	handle(events.ReservationCancelled, "reservation", nil)
	handle(events.PaymentRefunded, "payment", events.PaidBack{Amount: 700})
	handle(events.PaymentRefunded, "payment", events.PaidBack{Amount: 50})
	handle(events.TransferCompleted, "transfer", events.Transferred{Amount: 900})
	handle(events.TransferCancelled, "transfer", events.Transferred{Amount: 11})
	handle(events.MembershipActivated, "membership", nil)
	got, err := b.Stats.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{
		"reservations_created": 2, "reservations_confirmed": 1, "reservations_cancelled": 1, "refund_amount": 750,
		"transfer_amount": 900, "transfers_completed": 1, "transfers_cancelled": 1, "memberships": 1,
	} {
		if got[name] != want {
			t.Errorf("%s is %d, want %d", name, got[name], want)
		}
	}
	if len(got) != 8 {
		t.Errorf("counters: %v", got)
	}
	// Events of other subjects have no effect.
	e, err := events.New(events.PaymentSuccess, "payment", "1", "ann", true, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.Must(t, events.GroupStats, e, "")
}

func TestMalformed(t *testing.T) {
	b := boxtest.New(t)
	for typ, about := range map[string]string{events.PaymentRefunded: "payment", events.TransferCompleted: "transfer"} {
		e, err := events.New(typ, about, "1", "ann", true, "not an object")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Handle(t.Context(), events.GroupStats, e); fault.Of(err) != fault.Permanent {
			t.Errorf("%s: %v", typ, err)
		}
	}
}

func TestMissingCounter(t *testing.T) {
	b := boxtest.New(t)
	b.Exec(t, `DELETE FROM stats WHERE name = 'memberships'`)
	e, err := events.New(events.MembershipActivated, "membership", "1", "ann", false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Handle(t.Context(), events.GroupStats, e); err == nil {
		t.Error("an event was counted nowhere")
	}
}
