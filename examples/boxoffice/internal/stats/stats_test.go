package stats_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		require.NoError(t, err)
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
	require.NoError(t, err)
	for name, want := range map[string]int64{
		"reservations_created": 2, "reservations_confirmed": 1, "reservations_cancelled": 1, "refund_amount": 750,
		"transfer_amount": 900, "transfers_completed": 1, "transfers_cancelled": 1, "memberships": 1,
	} {
		if got[name] != want {
			t.Errorf("%s is %d, want %d", name, got[name], want)
		}
	}
	assert.Len(t, got, 8, "counters")
	// Events of other subjects have no effect.
	e, err := events.New(events.PaymentSuccess, "payment", "1", "ann", true, nil)
	require.NoError(t, err)
	b.Must(t, events.GroupStats, e, "")
}

func TestMalformed(t *testing.T) {
	b := boxtest.New(t)
	for typ, about := range map[string]string{events.PaymentRefunded: "payment", events.TransferCompleted: "transfer"} {
		e, err := events.New(typ, about, "1", "ann", true, "not an object")
		require.NoError(t, err)
		if _, err := b.Handle(t.Context(), events.GroupStats, e); fault.Of(err) != fault.Permanent {
			t.Errorf("%s: %v", typ, err)
		}
	}
}

func TestMissingCounter(t *testing.T) {
	b := boxtest.New(t)
	b.Exec(t, `DELETE FROM stats WHERE name = 'memberships'`)
	e, err := events.New(events.MembershipActivated, "membership", "1", "ann", false, nil)
	require.NoError(t, err)
	if _, err := b.Handle(t.Context(), events.GroupStats, e); err == nil {
		t.Error("an event was counted nowhere")
	}
}
