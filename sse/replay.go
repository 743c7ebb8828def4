package sse

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Replayer reads the missed events of a client from their store: for each name with a
// cursor the events behind it, and for the others the events that a new client should
// see. It limits their number itself, for example to the newest 10. A client gets all
// returned events, and the counts of those left out. Package ssetest has a conformance
// suite for it.
type Replayer func(ctx context.Context, since Cursors) (Missed, error)

// Missed is the missed events of a client.
type Missed struct {
	// Events are sent to the client, oldest first.
	Events []Event
	// Left is how many more there are that Events leaves out, by their names. For
	// each the client gets a `gap` event, before Events, so that it reads them
	// where they are stored.
	Left map[string]int
}

// missed reads the missed events of a stream.
func (h *Hub) missed(ctx context.Context, s *stream, since []string) (frames []frame, err error) {
	if s.replay == nil {
		return nil, nil
	}
	defer func() { // it may run in a goroutine of ours
		if p := recover(); p != nil {
			frames, err = nil, fmt.Errorf("sse: the Replayer panicked: %v", p)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, h.cfg.ReplayTimeout)
	defer cancel()
	missed, err := s.replay(ctx, cursors(h.cfg.Cursors, since))
	if err != nil {
		return nil, fmt.Errorf("sse: replay: %w", err)
	}
	frames = make([]frame, 0, len(missed.Events)+len(missed.Left))
	for _, name := range slices.Sorted(maps.Keys(missed.Left)) {
		if n := missed.Left[name]; n > 0 {
			frames = append(frames, h.frame(name, "", gapFrame(name, n))) // muted like the events it counts
		}
	}
	for _, e := range missed.Events {
		id := e.ID
		if cursor := slices.Index(h.cfg.Cursors, e.Name); id != "" {
			if cursor < 0 || !validID(id) {
				return nil, invalid("the replayed event %q has the id %q, which is no cursor", e.Name, id)
			}
			id = h.plainID(cursor, id)
		}
		b, err := encode(e.Name, id, e.Data)
		if err != nil {
			return nil, err
		}
		frames = append(frames, h.frame(e.Name, e.ID, b))
	}
	h.stats.replayed.Add(int64(len(missed.Events)))
	return frames, nil
}

// catchUp reads the missed events of a stream since its mark, or since its client's
// cursors when it opens, and lets it go on.
func (h *Hub) catchUp(ctx context.Context, s *stream, opens bool) error {
	hears := h.hears()
	since, ok := s.hold(opens)
	if !ok {
		return nil
	}
	frames, err := h.missed(ctx, s, since)
	switch {
	case err == nil:
	case ctx.Err() != nil: // the client has left, or the hub ends
		s.end(endedGone, nil)
	default:
		h.cfg.Logger.Warn("sse: what a stream has missed could not be read", "error", err)
		s.end(endedUnsynced, fallbackFrame(h.cfg.spread(), h.cfg.Inbox))
	}
	s.release(frames, !hears && s.replay != nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.brokerUp && s.marked() { // while it was catching up
		h.resyncer.add([]*stream{s})
	}
	return err
}

// up and down are called by the broker. Streams remember their cursors when events
// began to be lost, and are brought up to date from there.
func (h *Hub) up() {
	h.mu.Lock()
	h.brokerUp = true
	h.settle()
	h.mu.Unlock()
	h.resyncer.add(h.audience.all())
}

func (h *Hub) down() {
	h.mu.Lock()
	h.brokerUp = false
	h.settle()
	h.mu.Unlock()
	h.stats.gaps.Add(1)
	for _, s := range h.audience.all() {
		if s.replay != nil {
			s.mark()
		}
	}
}

// resyncer brings streams up to date, a few at a time. A stream is in its queue at most once.
type resyncer struct {
	mu    sync.Mutex
	queue []*stream
	wake  chan struct{}
}

func (r *resyncer) add(streams []*stream) {
	r.mu.Lock()
	for _, s := range streams {
		if s.replay != nil && !s.resyncs {
			s.resyncs = true
			r.queue = append(r.queue, s)
		}
	}
	r.mu.Unlock()
	notify(r.wake)
}

func (r *resyncer) next() *stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 {
		r.queue = nil
		return nil
	}
	s := r.queue[0]
	r.queue[0], r.queue = nil, r.queue[1:]
	s.resyncs = false
	return s
}

func (r *resyncer) run(h *Hub) func(context.Context) {
	return func(ctx context.Context) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-r.wake:
			}
			var workers sync.WaitGroup
			for range h.cfg.Resyncs {
				workers.Go(func() {
					for s := r.next(); s != nil && ctx.Err() == nil; s = r.next() {
						// The stream ends by itself when this fails.
						_ = h.catchUp(ctx, s, false)
					}
				})
			}
			workers.Wait()
		}
	}
}
