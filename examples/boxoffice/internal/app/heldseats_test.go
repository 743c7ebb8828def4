package app

import (
	"maps"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// Held seats are in Redis under the show's key, and leave it when sold or free.
func TestHeldSeatsInRedis(t *testing.T) {
	t.Parallel()
	url := servicetest.Redis(t)
	client := redistest.Open(t, url)
	prefix := redistest.Prefix(t, client)
	p := start(t, "--data-dir", t.TempDir(), "--redis-url", url, "--redis-prefix", prefix)
	f := p.fan("ann")
	want := func(seats map[string]string) {
		t.Helper()
		var got map[string]string
		boxtest.WaitFor(t, "the held seats in Redis", func() bool {
			var err error
			got, err = client.HGetAll(t.Context(), prefix+"hold_seats:show-1").Result()
			return err == nil && maps.Equal(got, seats)
		})
	}
	sold, free := f.hold("A-1", "A-2"), f.hold("B-1")
	want(map[string]string{"A-1": sold.ReservationID, "A-2": sold.ReservationID, "B-1": free.ReservationID})
	f.await(sold.ReservationID, f.pay(sold, approve), "A-1", "CONFIRMED , SUCCESS , SOLD")
	want(map[string]string{"B-1": free.ReservationID})
	f.call(http.MethodDelete, "/api/me/tickets/"+free.ReservationID, "", nil, 200, nil)
	want(map[string]string{})
	again := f.hold("C-1")
	want(map[string]string{"C-1": again.ReservationID})
	require.NoError(t, client.Del(t.Context(), prefix+"hold_seats:show-1").Err())
	want(map[string]string{"C-1": again.ReservationID}) // by the sweep
}
