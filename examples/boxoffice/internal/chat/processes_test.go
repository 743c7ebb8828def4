package chat_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/chat"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sse/driver"
	"github.com/millrace-go/millrace/sse/redissse"
)

func brokerOn(t *testing.T, url, prefix string) driver.Broker {
	t.Helper()
	_, b, err := redissse.New(redistest.Open(t, url), redissse.Config{Prefix: prefix})
	require.NoError(t, err)
	return b
}

// One process stores, another has the sockets; bells reach it by Redis alone.
func TestTwoProcesses(t *testing.T) {
	url := servicetest.Redis(t)
	prefix := redistest.Prefix(t, redistest.Open(t, url))
	db := boxtest.URL(t)
	open := func() *house {
		return openHouse(t, boxtest.Open(t, db), brokerOn(t, url, prefix), forever(chat.Config{}))
	}
	worker, front := open(), open()
	worker.join("ann", "room-1")
	conn, own := front.dial("room-1", "ann", 0), worker.dial("room-1", "ann", 0)
	front.next(conn, "ready")
	// The connection to Redis may not be open yet: bells rung until then are found when
	// it is.
	for i := range 20 {
		worker.say("ann", "room-1", "x")
		for _, c := range []*house{front, worker} {
			at := conn
			if c == worker {
				at = own
			}
			if m := c.next(at, "message"); m.Seq != int64(i+1) {
				t.Fatalf("%+v", m)
			}
		}
	}
}

// Without Redis messages arrive a look later; with it again, at once.
func TestRedisAway(t *testing.T) {
	server := redistest.StartServer(t)
	db := boxtest.URL(t)
	worker := openHouse(t, boxtest.Open(t, db), brokerOn(t, server.URL(), ""), chat.Config{})
	front := openHouse(t, boxtest.Open(t, db), brokerOn(t, server.URL(), ""), chat.Config{Look: 50 * time.Millisecond})
	worker.join("ann", "room-1")
	conn := front.dial("room-1", "ann", 0)
	own := worker.dial("room-1", "ann", 0)
	say := func(seq int64) {
		t.Helper()
		worker.say("ann", "room-1", "x")
		if m := front.next(conn, "message"); m.Seq != seq {
			t.Fatalf("%+v, want the place %d", m, seq)
		}
		if m := worker.next(own, "message"); m.Seq != seq {
			t.Fatalf("%+v, want the place %d", m, seq)
		}
	}
	say(1)
	server.Kill()
	say(2)
	say(3)
	boxtest.WaitFor(t, "a bell that was not taken", func() bool { return worker.chat.Stats().Unrung > 0 })
	server.Start()
	say(4)
}
