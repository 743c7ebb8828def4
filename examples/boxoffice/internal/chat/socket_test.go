package chat_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/chat"
	"github.com/millrace-go/millrace/sse/driver"
)

func TestSocket(t *testing.T) {
	delivered := make(chan time.Duration, 100)
	h := openHouse(t, boxtest.New(t), nil, forever(chat.Config{Delivered: func(after time.Duration) { delivered <- after }}))
	h.join("ann", "room-1")
	for _, text := range []string{"1", "2", "3"} {
		h.say("ann", "room-1", text)
	}
	conn := h.dial("room-1", "ann", 1)
	for want := int64(2); want <= 3; want++ {
		if m := h.next(conn, "message"); m.Seq != want || m.SenderID != "ann" || m.Message != fmt.Sprint(want) || m.ID == "" {
			t.Errorf("%+v, want the place %d", m, want)
		}
	}
	if f := h.next(conn, "ready"); f.After != 3 {
		t.Errorf("%+v", f)
	}
	late := h.dial("room-1", "bob", -1)
	if f := h.next(late, "ready"); f.After != 3 {
		t.Errorf("from now on: %+v", f)
	}
	ahead := h.dial("room-1", "bob", 999) // of a database that was another
	if f := h.next(ahead, "ready"); f.After != 3 {
		t.Errorf("from a place there is not: %+v", f)
	}
	h.say("ann", "room-1", "4")
	for _, c := range []*websocket.Conn{conn, late, ahead} {
		if m := h.next(c, "message"); m.Seq != 4 {
			t.Errorf("%+v", m)
		}
	}
	// The lateness of new messages is reported, and of no earlier ones.
	for range 3 {
		select {
		case after := <-delivered:
			if after < 0 || after > time.Minute {
				t.Errorf("a message is %v late", after)
			}
		case <-time.After(time.Minute):
			t.Fatal("nobody is told how late messages are")
		}
	}
	assert.Equal(t, 0, len(delivered), "too many are told")
	// A post is answered, and is a message once it is stored.
	require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte("5")))
	if f := h.next(conn, "accepted"); f.ID == "" {
		t.Errorf("%+v", f)
	}
	require.NoError(t, late.Write(t.Context(), websocket.MessageText, []byte("no member")))
	h.next(late, "refused")
}

func TestWhoMayOpenASocket(t *testing.T) {
	h := openHouse(t, boxtest.New(t), nil, chat.Config{Sockets: 1, Origins: []string{"tickets.example"}})
	host := strings.TrimPrefix(h.url, "http://")
	for origin, want := range map[string]bool{
		"": true, "http://" + host: true, "https://tickets.example": true, "https://evil.example": false, "null": false, "http://" + host + ".evil.example": false,
	} {
		header := http.Header{}
		if origin != "" {
			header.Set("Origin", origin)
		}
		conn, _, err := websocket.Dial(t.Context(), h.url+"/?room=room-1", &websocket.DialOptions{HTTPClient: h.client, HTTPHeader: header}) //nolint:bodyclose // Dial has read what there is of it
		assert.Equalf(t, want, (err == nil), "origin %q: %v", origin, err)
		if err == nil {
			_ = conn.Close(websocket.StatusNormalClosure, "")
			boxtest.WaitFor(t, "the socket to be gone", func() bool { return h.chat.Stats().Sockets == 0 })
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url, nil)
	require.NoError(t, err)
	assert.ErrorIs(t, h.chat.Check(r), chat.ErrUpgrade, "a plain request")
	h.dial("room-1", "ann", 0)
	if conn, err := h.tryDial(t.Context(), "room-1", "bob", 0); err == nil {
		_ = conn.CloseNow()
		t.Error("one socket too many was taken")
	}
}

// The sockets of an address are limited, and each that ends makes room.
func TestSocketsOfAnAddress(t *testing.T) {
	h := openHouse(t, boxtest.New(t), nil, chat.Config{PerAddress: 2})
	open := func(address string) (*websocket.Conn, error) {
		return h.tryDial(t.Context(), "room-1", "ann&address="+address, -1)
	}
	var all []*websocket.Conn
	for range 2 {
		conn, err := open("a")
		require.NoError(t, err)
		all = append(all, conn)
	}
	if conn, err := open("a"); err == nil {
		_ = conn.CloseNow()
		t.Error("an address opened one socket too many")
	}
	for _, address := range []string{"b", "", "", ""} {
		conn, err := open(address)
		require.NoErrorf(t, err, "from %q", address)
		all = append(all, conn)
	}
	_ = all[0].CloseNow()
	boxtest.WaitFor(t, "the socket to be gone", func() bool { return h.chat.Stats().Sockets == len(all)-1 })
	conn, err := open("a")
	require.NoError(t, err)
	for _, c := range append(all[1:], conn) {
		_ = c.CloseNow()
	}
}

func TestGoodbyes(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  chat.Config
		does func(h *house, conn *websocket.Conn)
		want websocket.StatusCode
		says string
	}{
		"the end":  {chat.Config{}, func(h *house, _ *websocket.Conn) { go h.stop() }, websocket.StatusServiceRestart, "the server ends; after=2"},
		"lifetime": {chat.Config{Lifetime: 50 * time.Millisecond}, func(*house, *websocket.Conn) {}, websocket.StatusServiceRestart, "open for long enough; after=2"},
		"bytes": {chat.Config{}, func(h *house, conn *websocket.Conn) {
			if err := conn.Write(h.Context(), websocket.MessageBinary, []byte("x")); err != nil {
				h.Fatal(err)
			}
		}, websocket.StatusUnsupportedData, "send text frames; after=2"},
		"too much": {chat.Config{}, func(h *house, conn *websocket.Conn) {
			if err := conn.Write(h.Context(), websocket.MessageText, make([]byte, 17<<10)); err != nil {
				h.Fatal(err)
			}
		}, websocket.StatusMessageTooBig, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := openHouse(t, boxtest.New(t), nil, c.cfg)
			h.join("ann", "room-1")
			h.say("ann", "room-1", "1")
			h.say("ann", "room-1", "2")
			conn := h.dial("room-1", "ann", 0)
			h.next(conn, "ready")
			c.does(h, conn)
			_, err := hear(t.Context(), conn)
			var closed websocket.CloseError
			if !errors.As(err, &closed) || closed.Code != c.want || !strings.Contains(closed.Reason, c.says) {
				t.Errorf("%v, want %v %q", err, c.want, c.says)
			}
			boxtest.WaitFor(t, "the socket to be gone", func() bool { return h.chat.Stats().Sockets == 0 })
		})
	}
}

// A client that does not read is cut, and the others have everything before any of
// them has waited for it. On this network a write waits for its reader.
func TestStalledSocketHurtsNobody(t *testing.T) {
	pipes := boxtest.NewPipes()
	box := boxtest.New(t)
	h := openOn(t, box, box.Outbox, nil, chat.Config{Backlog: 4, WriteTimeout: time.Hour}, pipes)
	h.join("ann", "room-1")
	stalled := h.dial("room-1", "stalled", 0)
	h.next(stalled, "ready")
	healthy := h.dial("room-1", "ann", 0)
	h.next(healthy, "ready")
	for i := range 30 {
		h.say("ann", "room-1", "x")
		if m := h.next(healthy, "message"); m.Seq != int64(i+1) {
			t.Fatalf("%+v", m)
		}
	}
	if s := h.chat.Stats(); s.Slow != 1 || s.Sockets != 2 {
		t.Errorf("%+v: the stalled one is not cut, or its write is over", s)
	}
	_ = stalled.CloseNow()
	boxtest.WaitFor(t, "the stalled one to be gone", func() bool { return h.chat.Stats().Sockets == 1 })
}

func TestAWriteHasADeadline(t *testing.T) {
	box := boxtest.New(t)
	h := openOn(t, box, box.Outbox, nil, chat.Config{WriteTimeout: 50 * time.Millisecond, Lifetime: 24 * time.Hour, Ping: time.Hour}, boxtest.NewPipes())
	h.join("ann", "room-1")
	h.dial("room-1", "stalled", 0) // it does not read that it is in
	boxtest.WaitFor(t, "the stalled one to be gone", func() bool { s := h.chat.Stats(); return s.Sockets == 0 && s.Slow == 1 })
}

// A client whose machine is gone neither reads nor writes.
func TestSilentSocketIsFound(t *testing.T) {
	box := boxtest.New(t)
	h := openOn(t, box, box.Outbox, nil, chat.Config{Ping: 20 * time.Millisecond, WriteTimeout: 20 * time.Millisecond}, boxtest.NewPipes())
	h.dial("room-1", "ann", -1)
	boxtest.WaitFor(t, "the silent one to be gone", func() bool { return h.chat.Stats().Sockets == 0 })
}

// Sockets that open, close and reconnect at any moment have every message once,
// although all bells may be lost.
func TestNoGapAndNothingTwice(t *testing.T) {
	for name, broker := range map[string]driver.Broker{"bells": nil, "no bell": mute{}} {
		t.Run(name, func(t *testing.T) {
			h := openHouse(t, boxtest.New(t), broker, chat.Config{Look: 10 * time.Millisecond})
			h.join("ann", "room-1")
			const messages = 120
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var readers sync.WaitGroup
			for reader := range 8 {
				readers.Go(func() {
					for at := int64(0); at < messages; {
						at = h.readSome(ctx, t, at, min(1+reader*5, int(messages-at)))
						if ctx.Err() != nil && at < messages {
							t.Errorf("reader %d has %d of %d messages", reader, at, messages)
							return
						}
					}
				})
			}
			for range messages {
				h.say("ann", "room-1", "x")
			}
			readers.Wait()
		})
	}
}

// readSome opens a socket after a place, reads some messages, and leaves.
func (h *house) readSome(ctx context.Context, t *testing.T, at int64, some int) int64 {
	conn, err := h.tryDial(ctx, "room-1", "ann", at)
	if err != nil {
		return at
	}
	defer conn.CloseNow() //nolint:errcheck // it leaves as clients do
	for end := at + int64(some); at < end; {
		f, err := hear(ctx, conn)
		if err != nil {
			return at
		}
		if f.Type != "message" {
			continue
		}
		assert.Equalf(t, at+1, f.Seq, "the place %d came after %d", f.Seq, at)
		at = f.Seq
	}
	return at
}
