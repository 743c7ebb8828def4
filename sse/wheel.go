package sse

import (
	"context"
	"sync"
	"time"
)

// wheelSlots is the number of slots over which pings are spread.
const wheelSlots = 64

// wheel has all streams in slots of time, each in that of its next ping. One ticker
// serves any number of streams.
type wheel struct {
	tick time.Duration

	mu    sync.Mutex
	now   int
	slots [wheelSlots + 1][]*stream
}

func newWheel(round time.Duration) *wheel { return &wheel{tick: round / wheelSlots} }

// add puts a stream into the wheel, to be due after so many ticks, at least one.
func (w *wheel) add(s *stream, ticks int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.put(s, ticks)
}

func (w *wheel) put(s *stream, ticks int) {
	s.wheelAt = int32((w.now + min(max(ticks, 1), wheelSlots)) % len(w.slots))
	s.wheelPos = int32(len(w.slots[s.wheelAt]))
	w.slots[s.wheelAt] = append(w.slots[s.wheelAt], s)
}

// remove takes a stream out, if it is there.
func (w *wheel) remove(s *stream) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.wheelAt < 0 {
		return
	}
	slot := w.slots[s.wheelAt]
	if int(s.wheelPos) >= len(slot) || slot[s.wheelPos] != s {
		return
	}
	last := len(slot) - 1
	slot[s.wheelPos] = slot[last]
	slot[s.wheelPos].wheelPos = s.wheelPos
	slot[last] = nil
	w.slots[s.wheelAt] = slot[:last]
}

// turn goes on by a tick. A due stream that lives longer than now is put in again.
func (w *wheel) turn(now time.Duration) (due, over []*stream) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = (w.now + 1) % len(w.slots)
	slot := w.slots[w.now]
	w.slots[w.now] = nil
	for _, s := range slot {
		left := s.expires - now
		if left <= 0 {
			over = append(over, s)
			continue
		}
		due = append(due, s)
		w.put(s, int(left/w.tick)+1)
	}
	return due, over
}

// turnWheel pings the streams, looks them up in the Cap, and ends those whose
// lifetime is over.
func (h *Hub) turnWheel(ctx context.Context) {
	ticker := time.NewTicker(h.wheel.tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			due, over := h.wheel.turn(now.Sub(h.made))
			for _, s := range over {
				s.end(endedExpired, retryFrame(h.cfg.Retry))
			}
			for _, s := range due {
				s.ping()
			}
			h.checker.look(due)
		}
	}
}
