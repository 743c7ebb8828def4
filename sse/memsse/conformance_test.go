package memsse_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/sse/driver"
	"github.com/millrace-go/millrace/sse/memsse"
	"github.com/millrace-go/millrace/sse/ssetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock moves by hand.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestCap(t *testing.T) {
	ssetest.RunCap(t, func(t *testing.T) ssetest.CapHarness {
		clock := &clock{now: time.Unix(1_000_000, 0)}
		c := memsse.NewAt(clock.Now)
		return ssetest.CapHarness{Cap: c, Advance: clock.Advance}
	})
}

func TestCapByTheRealClock(t *testing.T) {
	ssetest.RunCap(t, func(t *testing.T) ssetest.CapHarness {
		c, _ := memsse.New()
		return ssetest.CapHarness{Cap: c}
	})
}

func TestBroker(t *testing.T) {
	ssetest.RunBroker(t, func(t *testing.T) ssetest.BrokerHarness {
		_, b := memsse.New()
		return ssetest.BrokerHarness{Broker: b, Peers: []driver.Broker{b, b}}
	})
}

// Members that come once and never again leave nothing behind.
func TestMembersAreForgotten(t *testing.T) {
	clock := &clock{now: time.Unix(1_000_000, 0)}
	c := memsse.NewAt(clock.Now)
	r := driver.Rules{Max: 1, Lifetime: time.Minute}
	live, err := c.Renew(t.Context(), "i", time.Hour)
	require.NoError(t, err)
	for i := range 2000 {
		m := string(rune('a'+i%26)) + time.Duration(i).String()
		for n, id := range []string{"i.1", "i.2"} {
			if _, err := c.Open(t.Context(), r, live, driver.Conn{Member: m, ID: id, Token: id}); err != nil {
				t.Fatal(n, err)
			}
		}
		require.NoError(t, c.Close(t.Context(), []driver.Conn{{Member: m, ID: "i.2"}}))
	}
	assert.Equal(t, 2000, c.Members(), "members are remembered as evicted")
	clock.Advance(2 * time.Minute)
	from, steps := "", 0
	for {
		swept, err := c.Sweep(t.Context(), r, live, from)
		require.NoError(t, err)
		steps++
		if swept.Done {
			break
		}
		from = swept.Next
	}
	if n := c.Members(); n != 0 || steps < 5 {
		t.Errorf("after a sweep of %d steps %d members are left", steps, n)
	}
}
