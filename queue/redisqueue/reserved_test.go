package redisqueue_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/queue/driver"
)

// entry is a user's as it is packed in Redis: the order, and a time in ms.
func entry(order int64, ms float64) string {
	b := binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(order)))
	return string(binary.LittleEndian.AppendUint64(b, math.Float64bits(ms)))
}

// TestReservedByAnOlderRelease: while it runs beside this one, it admits users and
// reserves their places. They have them, and its no-shows come back to their old order.
func TestReservedByAnOlderRelease(t *testing.T) {
	t.Parallel()
	client := servers["redis"](t)
	prefix := redistest.Prefix(t, client)
	r := newRoom(t, client, prefix, 0)
	present, missing := r.check("present"), r.check("missing")
	r.rules.Threshold = 2
	now := float64(r.visit().Now.UnixMilli())
	ends := now + float64(r.rules.NoShow.Milliseconds())
	for user, order := range map[string]int64{"present": present.Order, "missing": missing.Order} {
		pipe := client.Pipeline()
		pipe.ZRem(t.Context(), prefix+"{e}:queue", user)
		pipe.ZAdd(t.Context(), prefix+"{e}:active", redis.Z{Score: ends, Member: user})
		pipe.ZAdd(t.Context(), prefix+"{e}:reserved", redis.Z{Score: ends, Member: user})
		pipe.HSet(t.Context(), prefix+"{e}:entry", user, entry(order, now))
		_, err := pipe.Exec(t.Context())
		require.NoError(t, err)
	}
	if v := r.visit(driver.Visit{Kind: driver.Heartbeat, User: "present"}); v.Active != 2 || v.Outcomes[0].Status != driver.Active || v.Outcomes[0].Order != present.Order || v.Outcomes[0].Left != r.rules.Active {
		t.Errorf("%+v", v)
	}
	r.ahead.Add(r.rules.NoShow.Microseconds() + 1e6)
	if v := r.visit(); v.Active != 1 || v.NoShows != 1 || v.Expired != 0 {
		t.Errorf("after the no-show: %+v", v.State)
	}
	r.rules.Threshold = 1
	if o := r.check("missing"); o.Status != driver.Waiting || o.Order != missing.Order || o.Ahead != 0 {
		t.Errorf("the no-show comes back, and is answered %+v", o)
	}
}

// TestATurnThatAnOlderReleaseEnded: it takes a user whose turn has come for a no-show
// that comes back, and lines the user up by the old order. The turn holds no place.
func TestATurnThatAnOlderReleaseEnded(t *testing.T) {
	t.Parallel()
	client := servers["redis"](t)
	prefix := redistest.Prefix(t, client)
	r := newRoom(t, client, prefix, 0)
	first := r.check("a")
	r.check("b")
	r.rules.Threshold, r.rules.Turn = 1, 0
	if a := r.admit(); len(a.Admitted) != 1 {
		t.Fatalf("%+v", a)
	}
	pipe := client.Pipeline()
	pipe.ZAdd(t.Context(), prefix+"{e}:queue", redis.Z{Score: float64(first.Order), Member: "a"})
	pipe.ZRem(t.Context(), prefix+"{e}:missed", "a")
	pipe.HDel(t.Context(), prefix+"{e}:entry", "a")
	_, err := pipe.Exec(t.Context())
	require.NoError(t, err)
	if o := r.visit(driver.Visit{Kind: driver.Heartbeat, User: "a"}).Outcomes[0]; o.Status != driver.Waiting || o.Turn || o.Order != first.Order {
		t.Errorf("in line again, and answered %+v", o)
	}
	r.ahead.Add(r.rules.NoShow.Microseconds() + 1e6)
	if v := r.visit(); v.Entitled != 0 || v.NoShows != 0 || v.Waiting != 2 {
		t.Errorf("%+v", v.State)
	}
	if a := r.admit(); len(a.Admitted) != 1 || a.Admitted[0].User != "a" || a.Admitted[0].Order != first.Order {
		t.Errorf("%+v", a)
	}
	if o := r.check("a"); o.Status != driver.Active || !o.Entered {
		t.Errorf("%+v", o)
	}
}
