package sse_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/driver"
)

// raw opens a stream over a connection that the test closes itself: when close
// returns, the kernel of the server knows of it.
func raw(t *testing.T, s *site, query string) (hangUp func()) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "GET /?%s HTTP/1.1\r\nHost: x\r\n\r\n", query)
	must(t, err)
	must(t, conn.SetReadDeadline(time.Now().Add(patience)))
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "retry:") {
			return func() { must(t, conn.Close()) }
		}
	}
	t.Fatalf("no stream: %v", lines.Err())
	return nil
}

// keeping is a Cap that keeps the entries of streams that have ended.
type keeping struct{ driver.Cap }

func (k keeping) Close(context.Context, []driver.Conn) error { return errors.New("not now") }

// A member's live stream is not evicted while there are streams whose clients have
// left, in any process and of any number.
func TestALiveStreamIsNeverEvictedForADeadOne(t *testing.T) {
	for where, at := range map[string]int{"here": 0, "at another process": 1} {
		t.Run(where, func(t *testing.T) {
			both(t, func(t *testing.T, lean bool) {
				c, b := keeping{newCap(t)}, newBroker(t)
				cfg := sse.Config{Lean: lean, Ping: time.Hour}
				sites := []*site{start(t, c, b, cfg), start(t, c, b, cfg)}
				tabs := []*client{dial(t, sites[0].url+"?member=ann&token=a")}
				for round := range 3 {
					for i := range 3 - len(tabs) {
						raw(t, sites[at], fmt.Sprintf("member=ann&token=d%d.%d", round, i))()
					}
					if !lean { // net/http has to notice
						eventually(t, "the clients have left", func() bool { return sites[at].Stats().Streams == len(tabs)*(1-at)+at*max(0, len(tabs)-1) })
					}
					tabs = append(tabs, dial(t, sites[at].url+fmt.Sprintf("?member=ann&token=t%d", round)))
					if n := sites[0].Stats().Victims + sites[1].Stats().Victims; len(tabs) <= 3 && n != 0 {
						t.Fatalf("%d streams were evicted while there was room for the living", n)
					}
				}
				if e := tabs[0].next(); e.Name != "evicted" { // with three others alive
					t.Errorf("the oldest gets %+v", e)
				}
				must(t, sites[0].ToMember(t.Context(), "ann", text("x")))
				for _, tab := range tabs[1:] {
					tab.gets("x")
				}
			})
		})
	}
}

// No process knows of the streams of a killed one until its lease is over. It does
// not answer, and so its streams go before those that are known to live.
func TestStreamsOfAKilledProcessGoFirst(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		c := newCap(t)
		cfg := sse.Config{Lean: lean, Lease: time.Minute, Timeout: 500 * time.Millisecond, Ping: time.Hour}
		s := start(t, c, newBroker(t), cfg)
		oldest := dial(t, s.url+"?member=ann&token=a")
		live, err := c.Renew(t.Context(), "killed", time.Hour)
		must(t, err)
		for _, id := range []string{"killed.1", "killed.2"} {
			_, err := c.Open(t.Context(), driver.Rules{Max: 3, Lifetime: time.Hour}, live, driver.Conn{Member: "ann", ID: id, Token: id})
			must(t, err)
		}
		tabs := []*client{oldest, dial(t, s.url+"?member=ann&token=b"), dial(t, s.url+"?member=ann&token=c")}
		must(t, s.ToMember(t.Context(), "ann", text("x")))
		for _, tab := range tabs {
			tab.gets("x")
		}
		assert.EqualValues(t, 2, s.Stats().Victims, "entries made room")
	})
}

// mute loses the answers between processes.
type mute struct{ driver.Broker }

func (m mute) Publish(ctx context.Context, msg driver.Message) error {
	if msg.Kind == driver.Answer {
		return nil
	}
	return m.Broker.Publish(ctx, msg)
}

// Without answers a new stream still opens, and there is never one too many.
func TestWithoutAnswersTheCapHolds(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		c, b := newCap(t), mute{newBroker(t)}
		cfg := sse.Config{Lean: lean, Lease: time.Minute, Timeout: 200 * time.Millisecond, Max: 1}
		one, two := start(t, c, b, cfg), start(t, c, b, cfg)
		first := dial(t, one.url+"?member=ann&token=a")
		second := dial(t, two.url+"?member=ann&token=b")
		if e := first.next(); e.Name != "evicted" {
			t.Errorf("the first gets %+v", e)
		}
		must(t, one.ToMember(t.Context(), "ann", text("x")))
		second.gets("x")
	})
}

func TestATabTakesAFreePlaceAndNobodysOther(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		c, b := newCap(t), newBroker(t)
		one, two := start(t, c, b, sse.Config{Lean: lean, Max: 2}), start(t, c, b, sse.Config{Lean: lean, Max: 2})
		first := dial(t, one.url+"?member=ann&token=a")
		hangUp := raw(t, two, "member=ann&token=b")
		require.Equal(t, http.StatusNoContent, dial(t, one.url+"?member=ann&token=c&free").status, "without a free place it is answered")
		assert.EqualValues(t, 1, one.Stats().Evictions, "requests were sent away")
		hangUp()
		if !lean {
			eventually(t, "the client has left", func() bool { return two.Stats().Streams == 0 })
		}
		polite := dial(t, one.url+"?member=ann&token=c&free")
		require.Equal(t, http.StatusOK, polite.status, "with a free place it is answered")
		must(t, one.ToMember(t.Context(), "ann", text("x")))
		first.gets("x")
		polite.gets("x")
		assert.EqualValues(t, 0, one.Stats().Victims+two.Stats().Victims, "streams made room")
	})
}

// An instance that loses its connection to the others while it asks does not take a
// process that could not answer it for dead.
func TestWhoCannotHearTakesNobodyForDead(t *testing.T) {
	c, b := newCap(t), &cutting{Broker: newBroker(t)}
	cfg := sse.Config{Lease: time.Minute, Timeout: 2 * time.Second, Max: 2}
	one, two := start(t, c, b, cfg), start(t, c, b.Broker, cfg)
	oldest := dial(t, one.url+"?member=ann&token=a")
	dial(t, two.url+"?member=ann&token=b")
	b.cut.Store(true)
	dial(t, one.url+"?member=ann&token=c")
	if e := oldest.next(); e.Name != "evicted" {
		t.Errorf("the oldest gets %+v", e)
	}
}

// cutting reports a loss to its listener when it is asked, and loses the question.
type cutting struct {
	driver.Broker
	cut      atomic.Bool
	listener driver.Listener
}

func (c *cutting) Listen(ctx context.Context, l driver.Listener) error {
	c.listener = l
	return c.Broker.Listen(ctx, l)
}

func (c *cutting) Publish(ctx context.Context, m driver.Message) error {
	if m.Kind == driver.Ask && c.cut.Load() {
		c.listener.Down()
		c.listener.Up()
		return nil
	}
	return c.Broker.Publish(ctx, m)
}

// A lean stream that still reads missed events is asked too.
func TestAStreamThatOpensIsAskedForItsClient(t *testing.T) {
	s := start(t, newCap(t), newBroker(t), sse.Config{Lean: true, Max: 2, Ping: time.Hour})
	oldest := dial(t, s.url+"?member=ann&token=a")
	reading, release := make(chan struct{}), make(chan struct{})
	s.replay = sse.Replayer(func(context.Context, sse.Cursors) (sse.Missed, error) {
		close(reading)
		<-release
		return sse.Missed{}, nil
	})
	hangUp := raw(t, s, "member=ann&token=b")
	<-reading
	hangUp()
	s.replay = nil
	tab := dial(t, s.url+"?member=ann&token=c")
	close(release)
	must(t, s.ToMember(t.Context(), "ann", text("x")))
	oldest.gets("x")
	tab.gets("x")
}
