package redisqueue_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/redisqueue"
)

// TestARoomOfTheReleaseBefore: testdata/room.json has the keys, by DUMP of Redis 7.0, of a
// room that it kept. "inside" is inside, the turn of "turn" has come, "missed" is a
// no-show, and a, b and c wait.
func TestARoomOfTheReleaseBefore(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/room.json")
	require.NoError(t, err)
	var keys map[string][]byte
	require.NoError(t, json.Unmarshal(text, &keys))
	client := open(t, redistest.StartServer(t).URL())
	for key, dump := range keys {
		require.NoError(t, client.Restore(t.Context(), key, 0, string(dump)).Err(), key)
	}
	r := newRoom(t, client, "", 2)
	const now = 1772366551000000
	redisqueue.Clocked(r.store, func() int64 { return now + r.ahead.Load() })
	r.rules.Keep = time.Hour
	v := r.visit(visitsOf("inside", "turn", "a", "b", "c", "missed")...)
	require.EqualValues(t, 8087392910794698, v.Epoch)
	require.Equal(t, []int{2, 4, 1}, []int{v.Active, v.Waiting, v.Returning})
	first := v.Outcomes[1].Order
	require.Equal(t, driver.Outcome{Status: driver.Active, Order: first, Left: r.rules.Active, New: true, Entered: true}, v.Outcomes[1])
	for i := range 3 {
		require.Equal(t, driver.Outcome{Status: driver.Waiting, Order: first + 1 + int64(i), Ahead: i}, v.Outcomes[2+i])
	}
	require.Equal(t, driver.Outcome{Status: driver.Waiting, Order: first - 1, New: true, Returner: true}, v.Outcomes[5])
}

func visitsOf(users ...string) (visits []driver.Visit) {
	for _, user := range users {
		visits = append(visits, driver.Visit{Kind: driver.Check, User: user})
	}
	return visits
}

// TestKeysOfLanes: they expire with the others. Those of kept orders go when no ticket can
// count any more.
func TestKeysOfLanes(t *testing.T) {
	t.Parallel()
	client := servers["cluster"](t)
	prefix := redistest.Prefix(t, client)
	r := newRoom(t, client, prefix, 0)
	r.rules.Keep, r.rules.Lanes = 30*time.Minute, []driver.Lane{{Name: "member", Share: 0.5}}
	silent := r.check("silent")
	joined := r.visit()
	r.ahead.Add((r.rules.Seen + 4*time.Minute).Microseconds())
	r.check("a")
	require.Equal(t, 1, r.sweep())
	r.visit(driver.Visit{Kind: driver.Check, User: "b"}, driver.Visit{Kind: driver.Check, User: "m", Lane: "member"})
	back := r.visit(driver.Visit{Kind: driver.Check, User: "silent", Epoch: joined.Epoch, Order: silent.Order, Until: joined.Now.Add(time.Minute)})
	require.True(t, back.Outcomes[0].Returner)
	r.rules.Threshold = 2
	a := r.admit()
	require.Len(t, a.Admitted, 2)
	require.Equal(t, 1, a.Laned)
	found := ttls(t, client, prefix)
	for _, name := range []string{"lanes", "laned", "returners", "returners-seen", "kept", "lane:member"} {
		ttl, there := found[name]
		require.True(t, there, "%s is missing of %v", name, found)
		require.InDelta(t, (24*time.Hour + 30*time.Minute).Seconds(), ttl.Seconds(), 1800, name)
	}
	for _, user := range []string{"silent", "a", "b", "m"} {
		r.visit(driver.Visit{Kind: driver.Leave, User: user})
	}
	r.ahead.Add((r.rules.Keep + 4*time.Minute).Microseconds())
	require.Zero(t, r.sweep())
	require.NotContains(t, ttls(t, client, prefix), "kept")
	_, err := r.store.Change(t.Context(), "e", r.rules, driver.Change{Clear: true})
	require.NoError(t, err)
	for _, name := range []string{"lanes", "laned", "returners", "returners-seen", "lane:member"} {
		require.NotContains(t, ttls(t, client, prefix), name)
	}
}
