package sse

import (
	"context"
	"sync"
	"time"
)

// checker asks the Cap which streams are still registered: a message that one
// was evicted may have been lost.
type checker struct {
	mu    sync.Mutex
	queue []*stream
	wake  chan struct{}
}

// add has streams looked up, each once at a time.
func (c *checker) add(streams []*stream) {
	c.mu.Lock()
	for _, s := range streams {
		s.mu.Lock()
		if !s.checking && s.ended == 0 {
			s.checking = true
			c.queue = append(c.queue, s)
		}
		s.mu.Unlock()
	}
	c.mu.Unlock()
	notify(c.wake)
}

func (c *checker) next() []*stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	batch := c.queue[:min(len(c.queue), MaxConns)]
	if c.queue = c.queue[len(batch):]; len(c.queue) == 0 {
		c.queue = nil
	}
	return batch
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

// check ends the streams that are not registered any more. When the Cap cannot
// be asked the next ping asks again.
func (h *Hub) check(ctx context.Context, batch []*stream) {
	conns := make([]Conn, len(batch))
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
			s.end(Evicted, []byte(evictedFrame))
		default:
			s.end(Lost, retryFrame(h.cfg.spread()))
		}
	}
}

// maxCloses bounds what is kept of entries to remove while the Cap is away. Those
// beyond it are ghosts when their lifetime is over.
const maxCloses = 100_000

// closer removes the entries of streams that ended, many in a call.
type closer struct {
	mu    sync.Mutex
	queue []Conn
	wake  chan struct{}

	flushing sync.Mutex // who flushes last waits for a flush that is under way
}

func (c *closer) add(h *Hub, conns ...Conn) {
	c.mu.Lock()
	c.queue = append(c.queue, conns...)
	if over := len(c.queue) - maxCloses; over > 0 {
		c.queue = append([]Conn(nil), c.queue[over:]...)
		h.stats.leftOver.Add(int64(over))
	}
	c.mu.Unlock()
	notify(c.wake)
}

func (c *closer) next() []Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	batch := c.queue[:min(len(c.queue), MaxConns)]
	if c.queue = c.queue[len(batch):]; len(c.queue) == 0 {
		c.queue = nil
	}
	return batch
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

// flush removes all there is, and says whether it could.
func (c *closer) flush(ctx context.Context, h *Hub) bool {
	c.flushing.Lock()
	defer c.flushing.Unlock()
	for batch := c.next(); len(batch) > 0; batch = c.next() {
		limited, cancel := context.WithTimeout(ctx, h.cfg.Timeout)
		err := h.cap.Close(limited, batch)
		cancel()
		if err != nil {
			h.failed("remove streams that ended", err)
			c.mu.Lock()
			c.queue = append(append([]Conn(nil), batch...), c.queue...)
			c.mu.Unlock()
			return false
		}
	}
	return true
}

func notify(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
