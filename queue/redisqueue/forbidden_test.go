package redisqueue_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/queue/draw"
	"github.com/millrace-go/millrace/queue/driver"
)

// TestForbidden: a Redis user without the rights gets a list of them that suffices.
func TestForbidden(t *testing.T) {
	t.Parallel()
	s := redistest.StartServer(t)
	admin := open(t, s.URL())
	as := func(user string, may ...any) *room {
		require.NoError(t, admin.Do(t.Context(), append([]any{"ACL", "SETUSER", user, "on", ">secret"}, may...)...).Err())
		client := redis.NewClient(&redis.Options{
			Addr: s.Address, Username: user, Password: "secret", ContextTimeoutEnabled: true, MaxRetries: -1,
		})
		t.Cleanup(func() {
			assert.NoError(t, client.Close())
		})
		return newRoom(t, client, "", 1)
	}
	little := as("little", "~*", "+evalsha", "+eval", "+sadd")
	_, err := little.store.Visit(t.Context(), "e", little.rules, driver.Beats{}, nil)
	require.Equalf(t, fault.Infrastructure, fault.Of(err), "a visit without permission: %v", err)
	_, list, found := strings.Cut(err.Error(), "allow it ")
	list, rest, _ := strings.Cut(list, " on the keys ")
	if !found || !strings.Contains(rest, "{*}:*") {
		t.Fatalf("a user without permission is told %v", err)
	}
	may := []any{"~{*}:*", "~queue:active-events", "+sadd", "+srem", "+smembers"}
	for _, one := range strings.Fields(list) {
		may = append(may, one)
	}
	r := as("enough", may...)
	r.rules.Keep, r.rules.Lanes = time.Hour, []driver.Lane{{Name: "member", Share: 0.5}}
	r.check("inside")
	r.check("a")
	r.check("b")
	r.visit(driver.Visit{Kind: driver.Check, User: "m", Lane: "member"})
	r.visit(driver.Visit{Kind: driver.Leave, User: "inside"})
	on, off, paused := driver.Gate{On: true}, driver.Gate{}, true
	for _, c := range []driver.Change{{Gate: &on}, {Gate: &off}, {Paused: &paused}} {
		_, err := r.store.Change(t.Context(), "e", r.rules, c)
		assert.NoError(t, err)
	}
	paused = false
	_, err = r.store.Change(t.Context(), "e", r.rules, driver.Change{Paused: &paused})
	assert.NoError(t, err)
	if a := r.admit(); len(a.Admitted) != 1 {
		t.Errorf("admitted %+v", a)
	}
	opens := r.visit().Now.Add(driver.FreezeBefore)
	_, err = r.store.Change(t.Context(), "e", r.rules, driver.Change{Settings: new(int64(1)), Opens: &opens})
	assert.NoError(t, err)
	for _, step := range []driver.DrawStep{{Kind: driver.DrawFreeze}, {Kind: driver.DrawLeaves, Leaves: make([]draw.Leaf, 1)}, {Kind: driver.DrawRoot, Root: make([]byte, len(draw.Leaf{})), Most: 1}} {
		step.Holder = 1
		if d, err := r.store.(driver.Drawer).Draw(t.Context(), "e", r.rules, step); err != nil || !d.Held {
			t.Errorf("step %d: held %t, %v", step.Kind, d.Held, err)
		}
	}
	_, err = r.store.Look(t.Context(), "e", r.rules, 0, 0)
	assert.NoError(t, err)
	r.ahead.Add((20 * time.Minute).Microseconds())
	assert.Equal(t, 2, r.sweep(), "were removed")
	_, err = r.store.Change(t.Context(), "e", r.rules, driver.Change{Clear: true})
	assert.NoError(t, err)
	for range 3 {
		r.ahead.Add(time.Minute.Microseconds())
		r.sweep()
	}
	if events, err := r.store.Events(t.Context()); err != nil || len(events) != 0 {
		t.Errorf("the events are %v, %v", events, err)
	}
}
