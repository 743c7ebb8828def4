package sse_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/sse"
)

// crowd is many clients that read all their events.
type crowd struct {
	t       *testing.T
	s       *site
	readers int
	number  int

	mu    sync.Mutex
	took  []time.Duration // of each event to each reader, since it was last asked
	sent  time.Time
	event string
	await sync.WaitGroup
	wrong atomic.Int64
}

// gather opens the streams of n members.
func gather(t *testing.T, s *site, n int) *crowd {
	t.Helper()
	c := &crowd{t: t, s: s, readers: n}
	var reading sync.WaitGroup
	var conns []net.Conn
	for i := range n {
		conn, err := net.Dial("tcp", s.url[len("http://"):])
		must(t, err)
		conns = append(conns, conn)
		if _, err := fmt.Fprintf(conn, "GET /?member=m%d HTTP/1.1\r\nHost: x\r\n\r\n", i); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReaderSize(conn, 1024)
		for line := ""; !strings.HasPrefix(line, "retry:"); {
			line, err = lines.ReadString('\n')
			must(t, err)
		}
		reading.Go(func() { c.read(lines) })
	}
	t.Cleanup(func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
		reading.Wait()
	})
	eventually(t, "all are there", func() bool { return s.Stats().Streams == n })
	return c
}

// read takes one reader's events.
func (c *crowd) read(lines *bufio.Reader) {
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return // closed at the end of the test, or cut, which the count of streams shows
		}
		if !bytes.HasPrefix(line, []byte("data: ")) {
			continue
		}
		c.mu.Lock()
		c.took = append(c.took, time.Since(c.sent))
		if string(line[len("data: "):len(line)-1]) != c.event {
			c.wrong.Add(1)
		}
		c.mu.Unlock()
		c.await.Done()
	}
}

// hear sends events to all, each when all readers have the one before it, and
// returns how long each took.
func (c *crowd) hear(n int) []time.Duration {
	c.t.Helper()
	for range n {
		c.number++
		data := fmt.Sprintf("%d:%s", c.number, strings.Repeat("x", 200))
		c.mu.Lock()
		c.sent, c.event = time.Now(), data
		c.mu.Unlock()
		c.await.Add(c.readers)
		must(c.t, c.s.ToAll(c.t.Context(), text(data)))
		all := make(chan struct{})
		go func() { c.await.Wait(); close(all) }()
		select {
		case <-all:
		case <-time.After(patience):
			c.t.Fatalf("event %d did not reach all", c.number) // the reading ends with the test
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	took := c.took
	c.took = nil
	slices.Sort(took)
	return took
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[int(q*float64(len(sorted)-1))]
}

// block opens a stream that is not read, and returns when a write to it waits: a
// write that no kernel here takes whole is in flight, and later events are pending.
func block(t *testing.T, s *site, member string) net.Conn {
	t.Helper()
	const large = 900 << 10
	conn := stall(t, s, "?member="+member)
	must(t, s.ToMember(t.Context(), member, sse.Event{Data: make([]byte, large)}))
	eventually(t, "a write to it waits", func() bool {
		if n := s.Backlog(); n != 0 {
			return n < large
		}
		must(t, s.ToMember(t.Context(), member, text("x")))
		return false
	})
	return conn
}

// Among 1,000 readers one stalls, with a write to it that nothing ends. Each event
// has to reach all others before the next is sent: if one of them, or the hub, ever
// waited for the stalled one, the first would be the last. The others get events no
// later either: of some rounds with and without the stalled one, next to each
// other, one has to take the same time; a machine that is busy with other work
// cannot make all differ in the same way.
func TestAStalledReaderAmongAThousand(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		const readers, events, rounds = 999, 15, 15
		s := start(t, newCap(t), newBroker(t), sse.Config{
			Lean: lean, WriteTimeout: time.Hour, Ping: time.Hour, Lifetime: 24 * time.Hour, MaxBytes: 1 << 30, MaxFrames: 1 << 20,
		}, smallBuffers)
		c := gather(t, s, readers)
		c.hear(5)
		same := false
		for round := 1; round <= rounds && !same; round++ {
			without := c.hear(events)
			conn := block(t, s, "slow")
			before := s.Backlog()
			with := c.hear(events)
			if st := s.Stats(); st.Streams != readers+1 || s.Backlog() < before {
				t.Fatalf("the stalled stream is not: %d streams, %d bytes wait, %d before", st.Streams, s.Backlog(), before)
			}
			must(t, conn.(*net.TCPConn).SetLinger(0))
			must(t, conn.Close())
			eventually(t, "the stalled one is gone", func() bool { return s.Stats().Streams == readers })
			p99, p99With := quantile(without, 0.99), quantile(with, 0.99)
			same = p99With <= p99+p99/4
			t.Logf("round %d, %d deliveries each: without p50 %v, p99 %v, longest %v; with p50 %v, p99 %v, longest %v", round, len(with),
				quantile(without, 0.5), p99, quantile(without, 1), quantile(with, 0.5), p99With, quantile(with, 1))
		}
		assert.Truef(t, same, "in none of %d rounds did the others hear as soon as without the stalled one", rounds)
		if n := c.wrong.Load(); n > 0 {
			t.Errorf("%d events came wrong or out of order", n)
		}
	})
}

// The stalled client is cut by the deadline of its write, and no other is. Until
// then the others get all events.
func TestAStalledReaderAmongAThousandIsCutWithinItsDeadline(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		const readers, limit = 999, time.Second
		s := start(t, newCap(t), newBroker(t), sse.Config{
			Lean: lean, WriteTimeout: limit, Ping: time.Hour, Lifetime: 24 * time.Hour, MaxBytes: 1 << 30, MaxFrames: 1 << 20,
		}, smallBuffers)
		c := gather(t, s, readers)
		began := time.Now()
		block(t, s, "slow")
		for s.Stats().Ended.Slow == 0 {
			if time.Since(began) > patience {
				t.Fatal("it is not cut")
			}
			c.hear(1)
		}
		if took := time.Since(began); took < limit {
			t.Errorf("it was cut after %v, before its deadline of %v", took, limit)
		} else {
			t.Logf("cut after %v of a deadline of %v", took, limit)
		}
		eventually(t, "it is gone", func() bool { return s.Stats().Streams == readers })
		c.hear(5)
		if st := s.Stats(); st.Streams != readers || st.Ended.Slow != 1 || st.Ended.Gone != 0 || c.wrong.Load() > 0 {
			t.Errorf("after that: %+v, %d came wrong", st, c.wrong.Load())
		}
	})
}

// Fifty clients read nothing, and each is sent a megabyte of its own. The process's
// memory for them stays within their bounds.
func TestStalledReadersCostBoundedMemory(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		const stalled, bound, events, size = 50, 64 << 10, 60, 16 << 10
		s := start(t, newCap(t), newBroker(t), sse.Config{
			Lean: lean, WriteTimeout: time.Hour, Ping: time.Hour, Lifetime: 24 * time.Hour, MaxBytes: bound,
		}, smallBuffers)
		for i := range stalled {
			stall(t, s, fmt.Sprint("?member=slow", i))
		}
		eventually(t, "all are there", func() bool { return s.Stats().Streams == stalled })
		before := heap()
		most := uint64(0)
		for n := range events {
			for i := range stalled {
				must(t, s.ToMember(t.Context(), fmt.Sprint("slow", i), sse.Event{Data: make([]byte, size)}))
			}
			if n < 8 || n == events-1 { // before they are cut, and after
				most = max(most, heap())
			}
		}
		// For each client: the pending frames, and as much in the write in flight,
		// whose buffer may have twice the room. The kernel's copy is not counted.
		const allowed = stalled*(bound+2*bound) + 4<<20
		grown := int64(most) - int64(before)
		if grown > allowed {
			t.Errorf("%d bytes more than before for %d stalled readers to whom %d were sent; at most %d are allowed", grown, stalled, stalled*events*size, allowed)
		}
		if n := s.Backlog(); n > stalled*bound {
			t.Errorf("%d bytes wait", n)
		}
		t.Logf("%d kB more for %d stalled readers, %d kB were sent to them", grown>>10, stalled, stalled*events*size>>10)
	})
}

// heap is the heap in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // and the contents of pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
