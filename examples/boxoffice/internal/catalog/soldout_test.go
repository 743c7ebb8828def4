package catalog_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
)

// sellRest leaves only the named seats of show-1 unsold.
func sellRest(t *testing.T, b *boxtest.Box, seats ...string) {
	t.Helper()
	keep := []any{"", ""}
	copy(keep, []any{seats[0], seats[len(seats)-1]})
	b.Exec(t, `UPDATE seats SET status = 'SOLD', reservation_id = 'others', hold_expires_at = NULL
		WHERE show_id = 'show-1' AND seat_id NOT IN ($1, $2)`, keep...)
}

func soldOut(b *boxtest.Box) (found []event.Event) {
	for _, e := range b.Outbox.Take() {
		if e.Type == events.ShowSoldOut {
			found = append(found, e)
		}
	}
	return found
}

func TestSoldOut(t *testing.T) {
	b := boxtest.New(t)
	_, first := paid(t, b, "A-1")
	_, last := paid(t, b, "A-2")
	sellRest(t, b, "A-1", "A-2")
	b.Outbox.Take()
	b.Must(t, events.GroupSold, first, "sold")
	require.Empty(t, soldOut(b), "with a seat on hold")
	b.Must(t, events.GroupSold, last, "sold")
	told := soldOut(b)
	if len(told) != 1 || told[0].AggregateID != "show-1" || told[0].Key() != "show-1" || told[0].CausationID != last.ID {
		t.Fatalf("%v", told)
	}
	b.Must(t, events.GroupSold, last, "none left") // a redelivery
	assert.Empty(t, soldOut(b), "told again")
}

// Two sales at the same moment, of which neither sees the other's: one event is
// emitted.
func TestLastSeatsAtOnce(t *testing.T) {
	b := boxtest.New(t)
	_, first := paid(t, b, "A-1")
	_, last := paid(t, b, "A-2")
	sellRest(t, b, "A-1", "A-2")
	for range 5 {
		b.Exec(t, `UPDATE seats SET status = 'HOLD', hold_expires_at = 1 WHERE show_id = 'show-1' AND seat_id IN ('A-1', 'A-2')`)
		b.Outbox.Take()
		var wg sync.WaitGroup
		for _, e := range []event.Event{first, last} {
			wg.Go(func() {
				if effect, err := b.Handle(t.Context(), events.GroupSold, e); effect != "sold" || err != nil {
					t.Errorf("%s, %v", effect, err)
				}
			})
		}
		wg.Wait()
		if told := soldOut(b); len(told) != 1 {
			t.Fatalf("told %d times", len(told))
		}
	}
}
