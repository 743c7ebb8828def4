package sse

import (
	"context"
	"net"
	"net/http"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// leanConn is a connection taken over from net/http. No goroutine waits on it.
type leanConn struct {
	net.Conn
	raw   syscall.RawConn
	left  *left // nil when all was written
	probe bool  // see whether the client is there
}

// left is the rest of a write that a client did not take.
type left struct {
	rest   []byte
	since  time.Time
	traced *[]*delivered // of the unwritten rest
}

// stalledEvery is how often writes to stalled clients are tried again.
const stalledEvery = 20 * time.Millisecond

// flusher writes to lean streams, and wakes the handlers of the others. A stream
// with pending frames is queued once; frames that arrive before its turn share the
// write.
type flusher struct {
	hub   *Hub
	wake  chan struct{}
	hurry chan struct{}

	mu      sync.Mutex
	queue   []*stream
	stalled []*stream
	closed  bool
}

func newFlusher(h *Hub) *flusher {
	return &flusher{hub: h, wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1)}
}

func (f *flusher) add(s *stream) {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		notify(s.wake)
		return
	}
	f.queue = append(f.queue, s)
	first := len(f.queue) == 1
	f.mu.Unlock()
	if first {
		notify(f.wake)
	}
}

// run writes in rounds, to all queued streams, with a goroutine for each CPU.
func (f *flusher) run(ctx context.Context) {
	linger := time.NewTimer(0)
	defer linger.Stop()
	again := time.NewTimer(stalledEvery)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			f.abandon()
			return
		case <-again.C:
		case <-f.wake:
			linger.Reset(f.hub.cfg.Coalesce)
			select {
			case <-ctx.Done():
				f.abandon()
				return
			case <-linger.C:
			case <-f.hurry:
			}
		}
		f.round()
		f.mu.Lock()
		more := len(f.stalled) > 0
		f.mu.Unlock()
		if more {
			again.Reset(stalledEvery)
		}
	}
}

func (f *flusher) round() {
	f.mu.Lock()
	queue := append(f.queue, f.stalled...)
	f.queue, f.stalled = nil, nil
	f.mu.Unlock()
	if len(queue) == 0 {
		return
	}
	each := (len(queue) + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0)
	var writers sync.WaitGroup
	for len(queue) > 0 {
		part := queue[:min(each, len(queue))]
		queue = queue[len(part):]
		writers.Go(func() {
			var buf []byte
			for _, s := range part {
				if s.lean == nil {
					notify(s.wake)
				} else {
					buf = f.flush(s, buf[:0])
				}
			}
		})
	}
	writers.Wait()
}

// abandon closes the remaining lean streams at the end. Handlers end by themselves.
func (f *flusher) abandon() {
	f.mu.Lock()
	f.closed = true
	queue := f.queue
	f.queue = nil
	f.mu.Unlock()
	for _, s := range queue {
		notify(s.wake)
	}
	for _, s := range f.hub.audience.all() {
		s.mu.Lock()
		lean := s.lean != nil
		s.mu.Unlock()
		if lean {
			f.finish(s)
		}
	}
}

// ended says whether all writing has ended.
func (f *flusher) ended() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

// flush writes a stream's pending frames. It returns the buffer for the next.
func (f *flusher) flush(s *stream, buf []byte) []byte {
	c := s.lean
	var ended reason
	var traced *[]*delivered
	if c.left != nil { // as much as is left is enough for a client that stalls
		buf = append(buf, c.left.rest...)
		s.mu.Lock()
		ended = s.ended
		s.mu.Unlock()
		traced, c.left.traced = c.left.traced, nil
	} else {
		buf, ended, traced = s.take(buf)
	}
	if len(buf) > 0 {
		f.hub.stats.writes.Add(1)
		n, err := c.writeNow(buf)
		f.hub.stats.written.Add(int64(max(n, 0)))
		switch {
		case err != nil:
			doneAll(traced, false)
			s.end(endedGone, nil)
			f.finish(s)
			return buf
		case n < len(buf):
			f.stall(s, buf[n:], ended, traced)
			return buf
		}
		c.left = nil
		doneAll(traced, true)
	}
	s.mu.Lock()
	probe := c.probe
	c.probe = false
	more := len(s.pending) > 0
	if ended = s.ended; ended == 0 && !more {
		s.sched = false
	}
	s.mu.Unlock()
	switch {
	case more:
		f.add(s)
	case ended != 0:
		f.finish(s)
	case probe && !c.alive():
		s.end(endedGone, nil) // queues it, to be finished
	}
	return buf
}

// stall keeps the unwritten rest of a write, for a while.
func (f *flusher) stall(s *stream, rest []byte, ended reason, traced *[]*delivered) {
	c, now := s.lean, time.Now()
	if c.left == nil {
		c.left = &left{since: now}
	}
	c.left.traced = traced
	if ended == endedSlow || now.Sub(c.left.since) >= f.hub.cfg.WriteTimeout {
		s.end(endedSlow, nil)
		f.finish(s)
		return
	}
	if len(rest) != len(c.left.rest) {
		c.left.rest = append([]byte(nil), rest...)
	}
	f.mu.Lock()
	f.stalled = append(f.stalled, s)
	f.mu.Unlock()
}

// finish closes a stream for good. Its sched stays set: it is not queued again.
func (f *flusher) finish(s *stream) {
	s.mu.Lock()
	s.sched = true
	s.mu.Unlock()
	if s.lean.left != nil {
		doneAll(s.lean.left.traced, false)
		s.lean.left.traced = nil
	}
	// The writes are done; an error of Close changes nothing.
	_ = s.lean.Close()
	f.hub.close(s, true)
}

// mayHijack says whether a request may be served in the lean mode.
func (h *Hub) mayHijack(r *http.Request) bool {
	return h.cfg.Lean && leanWorks && r.ProtoMajor == 1 && r.TLS == nil
}

// serveLean takes the connection over, if it can be.
func (h *Hub) serveLean(w http.ResponseWriter, r *http.Request, s *stream) (taken bool, err error) {
	rc := http.NewResponseController(w)
	head := leanHead(w.Header().Clone())
	conn, _, err := rc.Hijack()
	if err != nil {
		return false, nil // a wrapped ResponseWriter, which the portable mode can do with
	}
	// From here on the hub owns the connection, and has to close it.
	out := &hijacked{conn: conn, hub: h}
	handed := false
	defer func() {
		if !handed {
			_ = conn.Close()
			h.close(s, true)
		}
	}()
	if conn.SetDeadline(time.Time{}) != nil {
		return true, nil
	}
	lean := &leanConn{Conn: conn, raw: rawConn(conn)}
	if lean.raw != nil { // net/http does not look at the client any more
		s.mu.Lock()
		s.socket = lean
		s.mu.Unlock()
	}
	if !s.write(out, append(head, retryFrame(h.cfg.Retry)...)) {
		return true, nil
	}
	if h.catchUp(r.Context(), s, true) == nil {
		h.wheel.add(s, 1+int(h.cfg.Random()*wheelSlots))
	}
	if lean.raw == nil || conn.SetDeadline(time.Time{}) != nil { // wrapped: a goroutine has to wait for it
		s.follow(r.Context(), out)
		return true, nil
	}
	handed = true
	s.mu.Lock()
	s.lean, s.awaited, s.away = lean, true, nil
	s.unlockAndSignal()
	if h.flusher.ended() {
		h.flusher.finish(s)
	}
	return true, nil
}

// rawConn is the connection's file descriptor, or nil.
func rawConn(conn net.Conn) syscall.RawConn {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// hijacked is a blocking writer to a connection that was taken over.
type hijacked struct {
	conn net.Conn
	hub  *Hub
}

func (w *hijacked) write(b []byte) error {
	if err := w.conn.SetWriteDeadline(time.Now().Add(w.hub.cfg.WriteTimeout)); err != nil {
		return err
	}
	w.hub.stats.writes.Add(1)
	w.hub.stats.written.Add(int64(len(b)))
	_, err := w.conn.Write(b)
	return err
}

// leanHead is the answer's head: the body has no length, ends with the connection, and is
// written past every middleware.
func leanHead(header http.Header) []byte {
	streamHeader(header)
	header.Set("Connection", "close")
	header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	for _, name := range []string{"Content-Encoding", "Content-Length", "Transfer-Encoding"} {
		header.Del(name)
	}
	var b headBuffer
	b = append(b, "HTTP/1.1 200 OK\r\n"...)
	// A headBuffer cannot fail.
	_ = header.Write(&b)
	return append(b, "\r\n"...)
}

type headBuffer []byte

func (b *headBuffer) Write(p []byte) (int, error) { *b = append(*b, p...); return len(p), nil }
