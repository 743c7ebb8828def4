package app

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
)

// TestAdmissionFollowsTheSeats: as many members are inside as seats are not sold. While all
// seats are held none enters, and a seat that comes back is for the first in line.
func TestAdmissionFollowsTheSeats(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir(), "--queue-threshold", "10", "--queue-admission-interval-ms", "20")
	_, err := p.app.office.store.DB().Exec(`UPDATE seats SET status = 'SOLD', reservation_id = 'of-others' WHERE show_id = 'show-1' AND seat_id NOT IN ('A-1', 'A-2')`)
	require.NoError(t, err)
	ann, bob, cat := p.visitor("ann"), p.visitor("bob"), p.visitor("cat")
	ann.enters()
	bob.enters()
	require.Equal(t, "queued", cat.check().Status, "two seats are free, and two members inside")
	held := ann.hold("A-1")
	bob.hold("A-2")
	ann.leave()
	var at place
	boxtest.WaitFor(t, "cat to hear that no seat is free", func() bool { at = cat.check(); return at.SoldOut })
	require.Equal(t, "queued", at.Status)
	require.Nil(t, at.EstimatedWait)
	bob.leave()
	require.Equal(t, "queued", cat.check().Status, "nobody is inside, and no seat is free")
	var state struct{ Stock, CurrentUsers, QueueSize int }
	admin := &fan{p: p, token: p.app.AdminToken()}
	boxtest.WaitFor(t, "bob to be out", func() bool {
		admin.call(http.MethodGet, "/api/queue/admin/status/show-1", "", nil, 200, &state)
		return state.CurrentUsers == 0
	})
	require.Zero(t, state.Stock)
	require.Equal(t, 1, state.QueueSize)
	ann.call(http.MethodDelete, "/api/me/tickets/"+held.ReservationID, "", nil, 200, nil)
	cat.enters()
	cat.hold("A-1")
}

// TestStock: held seats count, since their holders are inside, and not when none is free.
func TestStock(t *testing.T) {
	b := boxtest.New(t)
	left := func() int {
		b.Catalog.Evict(t.Context(), "show-1") // it was read before the change
		n, err := stock(b.Catalog)(t.Context(), "show-1")
		require.NoError(t, err)
		return n
	}
	b.Exec(t, `UPDATE seats SET status = 'SOLD', reservation_id = 'of-others' WHERE show_id = 'show-1' AND seat_id NOT IN ('A-1', 'A-2')`)
	require.Equal(t, 2, left())
	b.Exec(t, `UPDATE seats SET status = 'HOLD', reservation_id = 'ann', hold_expires_at = now_ms() WHERE show_id = 'show-1' AND seat_id = 'A-1'`)
	require.Equal(t, 2, left())
	b.Exec(t, `UPDATE seats SET status = 'HOLD', reservation_id = 'bob', hold_expires_at = now_ms() WHERE show_id = 'show-1' AND seat_id = 'A-2'`)
	require.Zero(t, left())
}
