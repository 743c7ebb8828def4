package sse

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync"
	"time"
)

// writer writes to a client.
type writer interface{ write(b []byte) error }

// buffers are for pending frames in one write; those that grew large are dropped.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

const largeBuffer = 64 << 10

func putBuffer(b *[]byte) {
	if cap(*b) <= largeBuffer {
		*b = (*b)[:0]
		buffers.Put(b)
	}
}

// servePortable writes a stream in the handler's goroutine. It works with any
// protocol of net/http.
func (h *Hub) servePortable(w http.ResponseWriter, r *http.Request, s *stream) error {
	defer h.close(s, true)
	if !flushes(w) { // the lean mode could not take the connection over
		return h.unflushable(w)
	}
	rc := http.NewResponseController(w)
	// The server's ReadTimeout would end the stream when the request is long over.
	// Writers that have no deadlines are bounded by the backlog alone.
	_ = rc.SetReadDeadline(time.Time{})
	header := w.Header()
	streamHeader(header)
	if r.ProtoMajor == 1 {
		header["Connection"] = keepAlive
	}
	w.WriteHeader(http.StatusOK)
	out := &portable{w: w, rc: rc, hub: h, http2: r.ProtoMajor >= 2}
	if !s.write(out, retryFrame(h.cfg.Retry)) {
		return nil
	}
	if h.catchUp(r.Context(), s, true) == nil {
		h.wheel.add(s, 1+int(h.cfg.Random()*wheelSlots))
	}
	s.follow(r.Context(), out)
	return nil
}

// follow writes pending frames until the stream ends. The flusher wakes it, once
// more of a burst has had the time to come.
func (s *stream) follow(ctx context.Context, out writer) {
	s.mu.Lock()
	s.wake = make(chan struct{}, 1)
	s.awaited = true
	s.mu.Unlock()
	for {
		buf := buffers.Get().(*[]byte)
		b, ended, traced := s.take(*buf)
		ok := len(b) == 0 || s.write(out, b)
		doneAll(traced, ok)
		*buf = b
		putBuffer(buf)
		if ended != 0 || !ok {
			return
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			s.end(endedGone, nil)
			return
		}
	}
}

// write writes to the client, and ends the stream when that fails.
func (s *stream) write(out writer, b []byte) bool {
	err := out.write(b)
	switch {
	case err == nil:
		return true
	case errors.Is(err, os.ErrDeadlineExceeded):
		s.end(endedSlow, nil)
	default:
		s.end(endedGone, nil)
	}
	return false
}

type portable struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	hub   *Hub
	http2 bool
	until time.Time // the deadline that is set
}

func (p *portable) write(b []byte) error {
	// Setting a deadline costs more than checking it. Not every ResponseWriter has
	// deadlines.
	if now := time.Now(); p.http2 || p.until.Sub(now) < p.hub.cfg.WriteTimeout/4*3 {
		p.until = now.Add(p.hub.cfg.WriteTimeout)
		_ = p.rc.SetWriteDeadline(p.until)
	}
	if p.http2 { // an HTTP/2 stream is reset by a deadline that passes while it is idle
		defer func() { _ = p.rc.SetWriteDeadline(time.Time{}) }()
	}
	p.hub.stats.writes.Add(1)
	p.hub.stats.written.Add(int64(len(b)))
	if _, err := p.w.Write(b); err != nil {
		return err
	}
	return p.rc.Flush()
}
