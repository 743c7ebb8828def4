package redissse_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/sse/driver"
	"github.com/millrace-go/millrace/sse/redissse"
)

func contains(text string, all ...string) bool {
	for _, one := range all {
		if !strings.Contains(text, one) {
			return false
		}
	}
	return true
}

// TestFlush loses all data: the earlier entries are reported as gone, instances
// come back with their leases, and the cap holds for later streams.
func TestFlush(t *testing.T) {
	t.Parallel()
	s := redistest.StartServer(t)
	admin := open(t, s.URL())
	now := newClock()
	var all []*instance
	for n := range 3 {
		all = append(all, newInstance(t, newCap(t, open(t, s.URL()), ""), fmt.Sprint("i", n), now))
	}
	var before []driver.Conn
	for n := range 30 {
		c, _ := all[n%3].open(fmt.Sprint("m", n%10))
		before = append(before, c)
	}
	require.Empty(t, all[0].missing(before...), "are gone before the flush")
	require.NoError(t, admin.FlushAll(t.Context()).Err())
	missing, err := all[0].cap.Gone(t.Context(), before)
	if err != nil || len(missing) != len(before) {
		t.Fatalf("%d of %d are gone, %v", len(missing), len(before), err)
	}
	for _, m := range missing {
		if m.Evicted {
			t.Errorf("%s is said to be evicted", m.ID)
		}
	}
	now.advance(lease / 3)
	for range 2 { // the first does not know the others yet
		for _, i := range all {
			i.renew()
		}
	}
	if len(all[0].live.Instances) != 3 {
		t.Errorf("the leases after the flush are %+v", all[0].live)
	}
	for n := range 60 {
		_, o := all[n%3].open(fmt.Sprint("m", n%10))
		assert.Equal(t, 0, o.Ghosts, "ghosts after the flush")
	}
	for n := range 10 {
		if c, err := admin.ZCard(t.Context(), fmt.Sprintf("sse:notification:{m%d}", n)).Result(); err != nil || c != 3 {
			t.Errorf("%d are registered of a member, %v", c, err)
		}
	}
	assert.NoError(t, all[0].cap.Close(t.Context(), before))
	assert.Equal(t, 0, all[0].sweep(), "ghosts are")
}

// TestLostScripts runs each script on a server that has forgotten it.
func TestLostScripts(t *testing.T) {
	t.Parallel()
	s := redistest.StartServer(t)
	admin := open(t, s.URL())
	i := newInstance(t, newCap(t, open(t, s.URL()), ""), "i", nil)
	forget := func() {
		require.NoError(t, admin.ScriptFlush(t.Context()).Err())
	}
	forget()
	i.renew()
	forget()
	var conns []driver.Conn
	for n := range 5 {
		c, _ := i.open(fmt.Sprint("m", n))
		conns = append(conns, c)
	}
	forget()
	assert.Empty(t, i.missing(conns...), "gone")
	forget()
	assert.Equal(t, 0, i.sweep(), "were swept")
	forget()
	assert.NoError(t, i.cap.Close(t.Context(), conns[:3]))
	assert.Len(t, i.missing(conns...), 3, "gone after three were closed")
}

// TestDown: every call fails, with a class that says that a retry may help.
func TestDown(t *testing.T) {
	t.Parallel()
	s := redistest.StartServer(t)
	client := open(t, s.URL())
	c, b := newCap(t, client, ""), newBroker(t, client, redissse.Config{})
	s.Kill()
	for name, err := range callAll(t.Context(), c, b) {
		assert.Equalf(t, fault.Infrastructure, fault.Of(err), "%s: %v", name, err)
	}
}

// callAll makes each call there is.
func callAll(ctx context.Context, c driver.Cap, b driver.Broker) map[string]error {
	conn := driver.Conn{Member: "m", ID: "i.1", Token: "t"}
	live, err := c.Renew(ctx, "i", lease)
	_, open := c.Open(ctx, rules, live, conn)
	_, gone := c.Gone(ctx, []driver.Conn{conn})
	closed := c.Close(ctx, []driver.Conn{conn})
	_, swept := c.Sweep(ctx, rules, live, "")
	return map[string]error{
		"renew": err, "open": open, "gone": gone, "close": closed, "sweep": swept,
		"resign": c.Resign(ctx, "i"), "publish": b.Publish(ctx, driver.Message{Kind: driver.Mute, To: "m"}),
	}
}

// TestForbidden: a Redis user without the rights gets a list of them that suffices.
func TestForbidden(t *testing.T) {
	t.Parallel()
	s := redistest.StartServer(t)
	admin := open(t, s.URL())
	as := func(user string, may ...string) (driver.Cap, driver.Broker) {
		t.Helper()
		args := []any{"ACL", "SETUSER", user, "on", ">secret", "resetchannels"}
		for _, one := range may {
			args = append(args, one)
		}
		require.NoError(t, admin.Do(t.Context(), args...).Err())
		client := redis.NewClient(&redis.Options{
			Addr: s.Address, Username: user, Password: "secret", ContextTimeoutEnabled: true, MaxRetries: -1,
		})
		t.Cleanup(func() {
			assert.NoError(t, client.Close())
		})
		return newCap(t, client, ""), newBroker(t, client, redissse.Config{})
	}
	little, whisper := as("little", "~*", "+evalsha", "+eval", "+publish", "+subscribe")
	told := func(err error, on string) []string {
		t.Helper()
		require.Equalf(t, fault.Infrastructure, fault.Of(err), "without permission: %v", err)
		_, list, found := strings.Cut(err.Error(), "allow it ")
		list, rest, on2 := strings.Cut(list, on)
		if !found || !on2 || strings.Contains(err.Error(), "secret") {
			t.Fatalf("a user without permission is told %v", err)
		}
		may := strings.Fields(list)
		for _, word := range strings.Fields(strings.TrimSuffix(rest, ":")) {
			if word = strings.Trim(word, ",:"); strings.HasPrefix(word, "sse:") || strings.HasPrefix(word, "&sse:") {
				may = append(may, word)
			}
		}
		return may
	}
	_, err := little.Renew(t.Context(), "i", lease)
	may := told(err, " on the keys ")
	for i, word := range may {
		if strings.HasPrefix(word, "sse:") {
			may[i] = "~" + word
		}
	}
	err = whisper.Listen(t.Context(), driver.Listener{Hear: func(driver.Message) {}, Up: func() {}, Down: func() {}})
	may = append(may, told(err, " on the channels ")...)

	c, b := as("enough", may...)
	for name, err := range callAll(t.Context(), c, b) {
		assert.NoErrorf(t, err, "%s by a user with %v", name, may)
	}
	i := newInstance(t, c, "i", nil)
	for range 5 { // evictions
		i.open("m")
	}
	again := driver.Conn{Member: "m", ID: "i.9", Token: "tab of i.5"}
	if o, err := c.Open(t.Context(), rules, i.live, again); err != nil || len(o.Replaced) != 1 {
		t.Errorf("the same tab again: %+v, %v", o, err)
	}
	i.missing(again, driver.Conn{Member: "m", ID: "i.1", Token: "tab of i.1"})
	assert.NoError(t, c.Close(t.Context(), []driver.Conn{again, {Member: "m", ID: "i.3", Token: "x"}, {Member: "m", ID: "i.4", Token: "x"}}))
	i.sweep()
	h := listen(t, b)
	publish(t, b, driver.Message{Kind: driver.Disconnect, To: "m", Arg: "i.1"})
	wait(t, "message", h.messages)
}
