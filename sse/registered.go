package sse

import (
	"context"
	"sync"
	"time"

	"github.com/millrace-go/millrace/sse/driver"
)

// checker asks the Cap which streams are still registered: the message about an
// eviction may have been lost.
type checker struct{ backlog[*stream] }

// look queues streams for a look-up, each at most once at a time, so that the queue
// never exceeds their number.
func (c *checker) look(streams []*stream) {
	var due []*stream
	for _, s := range streams {
		s.mu.Lock()
		if !s.checking && s.ended == 0 {
			s.checking = true
			due = append(due, s)
		}
		s.mu.Unlock()
	}
	c.add(due...)
}

func (c *checker) run(h *Hub) func(context.Context) {
	return func(ctx context.Context) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-c.wake:
			}
			for batch := c.next(); len(batch) > 0 && ctx.Err() == nil; batch = c.next() {
				h.check(ctx, batch)
			}
		}
	}
}

// check ends the streams that are not registered any more. When the Cap is
// unreachable the next ping asks again.
func (h *Hub) check(ctx context.Context, batch []*stream) {
	conns := make([]driver.Conn, len(batch))
	by := make(map[string]*stream, len(batch))
	for i, s := range batch {
		conns[i], by[s.conn.ID] = s.conn, s
	}
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Timeout)
	defer cancel()
	missing, err := h.cap.Gone(ctx, conns)
	for _, s := range batch {
		s.mu.Lock()
		s.checking = false
		s.mu.Unlock()
	}
	if err != nil {
		h.failed("look up streams", err)
		return
	}
	for _, m := range missing {
		switch s := by[m.ID]; {
		case s == nil:
		case m.Evicted:
			s.end(endedEvicted, []byte(evictedFrame))
		default:
			s.end(endedLost, retryFrame(h.cfg.spread()))
		}
	}
}

// maxCloses bounds the pending removals during an outage of the Cap. Entries beyond
// it are ghosts when their lifetime is over.
const maxCloses = 100_000

// closer removes the entries of streams that ended, many in a call.
type closer struct {
	backlog[driver.Conn]
	flushing sync.Mutex // the last flush waits for one in progress
}

func (c *closer) run(h *Hub) func(context.Context) {
	return func(ctx context.Context) {
		again := time.NewTimer(0)
		defer again.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-again.C:
			case <-c.wake:
			}
			if !c.flush(ctx, h) && ctx.Err() == nil {
				again.Reset(h.cfg.Lease / 15)
			}
		}
	}
}

// flush removes all pending entries, and says whether it succeeded.
func (c *closer) flush(ctx context.Context, h *Hub) bool {
	c.flushing.Lock()
	defer c.flushing.Unlock()
	for batch := c.next(); len(batch) > 0; batch = c.next() {
		limited, cancel := context.WithTimeout(ctx, h.cfg.Timeout)
		err := h.cap.Close(limited, batch)
		cancel()
		if err != nil {
			h.failed("remove streams that ended", err)
			c.back(batch)
			return false
		}
	}
	return true
}
