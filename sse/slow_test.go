package sse_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/sse"
)

// stall opens a stream and reads nothing of it but the head.
func stall(t *testing.T, s *site, path string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.url[len("http://"):])
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	must(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
	_, err = fmt.Fprintf(conn, "GET /%s HTTP/1.1\r\nHost: x\r\n\r\n", path)
	require.NoError(t, err)
	head := make([]byte, 0, 1024)
	for !bytes.Contains(head, []byte("retry:")) {
		b := make([]byte, 1)
		_, err := conn.Read(b)
		require.NoError(t, err)
		head = append(head, b...)
	}
	return conn
}

// smallBuffers makes the kernel buffer little for clients, so that they stall soon.
func smallBuffers(u *httptest.Server) {
	u.Listener = &small{u.Listener}
}

type small struct{ net.Listener }

func (l *small) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		err = conn.(*net.TCPConn).SetWriteBuffer(4 << 10)
	}
	return conn, err
}

func TestAStalledReaderIsCutAndTheOthersDoNotNotice(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		const others, events = 20, 200
		s := start(t, newCap(t), newBroker(t), sse.Config{Lean: lean, WriteTimeout: time.Hour}, smallBuffers)
		stalled := stall(t, s, "?member=slow")
		var all []*client
		for i := range others {
			all = append(all, dial(t, s.url+fmt.Sprintf("?member=m%d", i)))
		}
		ctx, data := t.Context(), bytes.Repeat([]byte("x"), 8000)
		// All others await each event, so that none of them ever has a backlog. If
		// an event waited for the stalled reader this would not end.
		for i := range events {
			must(t, s.ToAll(ctx, sse.Event{Data: append(fmt.Appendf(nil, "%d:", i), data...)}))
			for _, c := range all {
				if e := c.next(); e.Data != fmt.Sprintf("%d:%s", i, data) {
					t.Fatalf("event %d comes as %.20q", i, e.Data)
				}
			}
		}
		eventually(t, "the stalled reader is cut", func() bool { return s.Cut("slow") })
		must(t, stalled.Close()) // or the write that it is in lasts an hour
		eventually(t, "its stream has ended", func() bool { return s.Stats().Ended.Slow == 1 })
		if st := s.Stats(); st.Streams != others || st.Ended.Gone != 0 {
			t.Errorf("after that: %+v", st)
		}
	})
}

// A client that reads nothing costs its backlog and one write, not more.
func TestTheBacklogIsBounded(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		s := start(t, newCap(t), newBroker(t), sse.Config{Lean: lean, WriteTimeout: time.Hour, MaxBytes: 64 << 10, MaxFrames: 1000}, smallBuffers)
		stall(t, s, "?member=slow")
		ctx, data := t.Context(), bytes.Repeat([]byte("x"), 8<<10)
		given := int64(0)
		for s.Stats().Ended.Slow == 0 && given < 10_000 {
			must(t, s.ToMember(ctx, "slow", sse.Event{Data: data}))
			given++
			if s.Cut("slow") {
				break
			}
		}
		// More than the kernel and the two buffers of 64 KiB may hold.
		if sent := s.Stats().Sent; sent > 2000 {
			t.Errorf("%d events of 8 KiB were given to a client that reads nothing", sent)
		}
		if n := s.Backlog(); n > 64<<10 {
			t.Errorf("%d bytes wait", n)
		}
	})
}

// A write that never ends is cut by its deadline, though nothing else is sent.
func TestAWriteHasADeadline(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		s := start(t, newCap(t), newBroker(t), sse.Config{Lean: lean, WriteTimeout: 200 * time.Millisecond, MaxBytes: 16 << 20, MaxFrames: 10_000}, smallBuffers)
		stall(t, s, "?member=slow")
		for range 8 { // far beyond the kernel's buffers, far below the backlog's bound
			must(t, s.ToMember(t.Context(), "slow", sse.Event{Data: make([]byte, 900<<10)}))
		}
		eventually(t, "it is cut", func() bool { return s.Stats().Ended.Slow == 1 })
		eventually(t, "and gone", func() bool { return s.Stats().Streams == 0 })
	})
}

func TestWhatIsPendingSharesAWrite(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		s := start(t, newCap(t), newBroker(t), sse.Config{Lean: lean, Coalesce: 5 * time.Millisecond})
		c := dial(t, s.url+"?member=ann")
		must(t, s.ToAll(t.Context(), text("first")))
		c.gets("first")
		for range 20 { // a machine that stops for 5 ms between two events has more writes
			before := s.Stats().Writes
			for range 30 {
				must(t, s.ToAll(t.Context(), text("x")))
			}
			for range 30 {
				c.gets("x")
			}
			if s.Stats().Writes-before < 15 {
				return
			}
		}
		t.Error("bursts of 30 events are not coalesced")
	})
}
