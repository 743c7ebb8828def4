package app

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// TestSoldOutEverywhere: two processes read one copy of the shows, and a show that
// sells out at one is sold out at the other. The copy never expires here.
func TestSoldOutEverywhere(t *testing.T) {
	t.Parallel()
	redis, db, bank := servicetest.Redis(t), boxtest.URL(t), bank(t)
	client, err := redisdb.Open(redis, redisdb.Config{})
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, client.Close())
	})
	prefix := redistest.Prefix(t, client)
	role := func(roles string) *process {
		return start(t, "--data-dir", t.TempDir(), "--db-url", db, "--gateway-url", bank, "--roles", roles, "--redis-url", redis, "--redis-prefix", prefix,
			"--queue-entry-token-secret", "a-secret-that-the-processes-share")
	}
	seller, reader := role("all"), role("api")
	ann := seller.fan("ann")
	// keep removes the expiry of the copies, and returns their number.
	keep := func() (n int) {
		keys, err := client.Keys(t.Context(), prefix+"cache:{shows:*}").Result()
		require.NoError(t, err)
		for _, key := range keys {
			if kept, err := client.Persist(t.Context(), key).Result(); err != nil {
				t.Fatal(err)
			} else if kept {
				n++
			}
		}
		return n
	}
	seats := func() (n struct{ Total, Available, Held, Sold int }) {
		var show struct {
			Seats *struct{ Total, Available, Held, Sold int }
		}
		show.Seats = &n
		(&fan{p: reader}).call(http.MethodGet, "/api/shows/show-1", "", nil, 200, &show)
		return n
	}
	held := ann.hold("A-1")
	boxtest.WaitFor(t, "a copy of one held seat", func() bool { return seats().Held == 1 && keep() == 1 })
	if _, err := seller.app.office.store.DB().ExecContext(t.Context(), `UPDATE seats SET status = 'SOLD', reservation_id = 'others', hold_expires_at = NULL
		WHERE show_id = 'show-1' AND seat_id <> 'A-1'`); err != nil { // of which nobody is told
		t.Fatal(err)
	}
	ann.pay(held, boxtest.Approve)
	boxtest.WaitFor(t, "the other process to say that nothing is left", func() bool { n := seats(); return n.Sold == n.Total })
}

// TestCopiesOfShowsAway: readers get the shows during an outage of Redis.
func TestCopiesOfShowsAway(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir(), "--redis-url", "redis://"+closedPort(t))
	for range 3 {
		var shows []struct{ ID string }
		(&fan{p: p}).call(http.MethodGet, "/api/shows", "", nil, 200, &shows)
		assert.Len(t, shows, 5, "shows")
	}
}
