package redissse_test

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/sse/driver"
	"github.com/millrace-go/millrace/sse/redissse"
)

func TestMain(m *testing.M) {
	redis.SetLogger(redistest.Silence{})
	if url := os.Getenv(instanceEnv); url != "" {
		if err := beInstance(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

var (
	open    = redistest.Open
	servers = redistest.Servers
)

func newCap(t testing.TB, client redis.UniversalClient, prefix string) driver.Cap {
	t.Helper()
	// The nodes of the tests' Cluster are on one machine.
	c, _, err := redissse.New(client, redissse.Config{Prefix: prefix, Skew: time.Nanosecond})
	require.NoError(t, err)
	return c
}

func newBroker(t testing.TB, client redis.UniversalClient, cfg redissse.Config) driver.Broker {
	t.Helper()
	_, b, err := redissse.New(client, cfg)
	require.NoError(t, err)
	return b
}

const lease = 15 * time.Second

var rules = driver.Rules{Max: 3, Lifetime: 30 * time.Minute}

// clock is the time of Redis, for all instances of a test.
type clock struct{ µs atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.µs.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMicro())
	return c
}

func (c *clock) advance(d time.Duration) { c.µs.Add(d.Microseconds()) }

// instance is a process with streams.
type instance struct {
	t      *testing.T
	cap    driver.Cap
	name   string
	live   driver.Live
	behind time.Duration // by how much the nodes of members are behind that of leases
	opened int
}

func newInstance(t *testing.T, c driver.Cap, name string, time *clock) *instance {
	t.Helper()
	i := &instance{t: t, cap: c, name: name}
	if time != nil {
		redissse.Clocked(c, func() int64 { return time.µs.Load() - i.behind.Microseconds() })
	}
	i.renew()
	return i
}

func (i *instance) renew() driver.Live {
	i.t.Helper()
	live, err := i.cap.Renew(i.t.Context(), i.name, lease)
	if err != nil {
		i.t.Fatal(err)
	}
	i.live = live
	return live
}

// open opens a stream in a new tab.
func (i *instance) open(member string) (driver.Conn, driver.Opened) {
	i.t.Helper()
	i.opened++
	id := fmt.Sprintf("%s.%d", i.name, i.opened)
	c := driver.Conn{Member: member, ID: id, Token: "tab of " + id}
	o, err := i.cap.Open(i.t.Context(), rules, i.live, c)
	if err != nil {
		i.t.Fatal(err)
	}
	return c, o
}

// missing returns which of some connections are not registered, by their ids.
func (i *instance) missing(conns ...driver.Conn) map[string]bool {
	i.t.Helper()
	gone, err := i.cap.Gone(i.t.Context(), conns)
	if err != nil {
		i.t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, m := range gone {
		ids[m.ID] = true
	}
	return ids
}

// sweep sweeps once over all members.
func (i *instance) sweep() (removed int) {
	i.t.Helper()
	for from := ""; ; {
		s, err := i.cap.Sweep(i.t.Context(), rules, i.live, from)
		if err != nil {
			i.t.Fatal(err)
		}
		removed += s.Removed
		if s.Done {
			return removed
		}
		from = s.Next
	}
}
