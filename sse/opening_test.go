package sse_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/driver"
)

// opening lets a test act while a stream is being registered.
type opening struct {
	driver.Cap
	during func(c driver.Conn)
}

func (o *opening) Open(ctx context.Context, r driver.Rules, live driver.Live, c driver.Conn) (driver.Opened, error) {
	got, err := o.Cap.Open(ctx, r, live, c)
	if o.during != nil {
		o.during(c)
	}
	return got, err
}

// Live events that arrive while a stream opens wait for the older ones.
func TestEventsWhileAStreamOpensComeAfterTheReplay(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		c, table := &opening{Cap: newCap(t)}, &stored{}
		s := start(t, c, newBroker(t), sse.Config{Lean: lean})
		s.replay = table.Replay
		table.add("notification", 1)
		c.during = func(driver.Conn) {
			assert.NoError(t, s.ToMember(t.Context(), "ann", table.add("notification", 2)))
		}
		dial(t, s.url+"?member=ann").gets("notification1", "notification2")
	})
}

// A stream is evicted before its process knows that it is registered.
func TestAnEvictionWhileAStreamOpensIsHeard(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		c, b := &opening{Cap: newCap(t)}, newBroker(t)
		s := start(t, c, b, sse.Config{Lean: lean})
		c.during = func(conn driver.Conn) {
			assert.NoError(t, b.Publish(t.Context(), driver.Message{Kind: driver.Disconnect, To: conn.Member, Arg: conn.ID}))
		}
		tab := dial(t, s.url+"?member=ann")
		if e := tab.next(); e.Name != "evicted" {
			t.Errorf("it is told %+v", e)
		}
		tab.over()
	})
}

// While a client's stream opens it gets more events than may be pending: it is cut,
// like any client that is too slow, and no other notices.
func TestTooMuchWhileAStreamOpensEndsIt(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		c := &opening{Cap: newCap(t)}
		s := start(t, c, newBroker(t), sse.Config{Lean: lean, MaxFrames: 50, MaxBytes: 100})
		c.during = func(driver.Conn) {
			for range 30 { // fewer frames than allowed, and more bytes
				assert.NoError(t, s.ToMember(t.Context(), "ann", text("ten bytes.")))
			}
			assert.True(t, s.Cut("ann"), "more bytes than allowed are held")
		}
		tab := dial(t, s.url+"?member=ann")
		tab.over()
		c.during = func(driver.Conn) {
			for range 60 {
				assert.NoError(t, s.ToMember(t.Context(), "ann", text("")))
			}
		}
		dial(t, s.url+"?member=ann").over()
		eventually(t, "both are counted", func() bool { return s.Stats().Ended.Slow == 2 })
		c.during = nil
		tab = dial(t, s.url+"?member=ann")
		must(t, s.ToMember(t.Context(), "ann", text("x")))
		tab.gets("x")
	})
}
