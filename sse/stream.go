package sse

import (
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/sse/driver"
)

// reason is why a stream ended; 0 while it is open. [Stats] explains them.
type reason uint8

const (
	endedGone reason = 1 + iota
	endedSlow
	endedEvicted
	endedExpired
	endedDrained
	endedOutage
	endedLost
	endedUnsynced
	endedRefused
	reasons = endedRefused
)

// frame is an event as all connections share it.
type frame struct {
	bytes  []byte
	body   int    // where the id field begins
	cursor int    // which cursor the id moves; -1 without
	id     string // the event's own
	key    uint64 // of name and id
	mutes  bool   // muted members do not get it
	trace  *delivered
}

// recall is how many events a stream remembers, so as not to send them twice.
const recall = 64

// stream is one open connection. Its unwritten frames are in pending; a writer
// takes all of them at once.
type stream struct {
	hub      *Hub
	conn     driver.Conn
	replay   Replayer
	address  string
	at       int           // in the audience, and guarded by it
	seats    []seat        // in rooms, guarded by the audience
	expires  time.Duration // after the hub was made
	wake     chan struct{} // for the handler, set before it waits
	lean     *leanConn     // set under mu, once it is without a handler
	wheelAt  int32         // slot and place in the wheel, guarded by it
	wheelPos int32
	resyncs  bool // is in the resyncer's queue, and guarded by it

	away   <-chan struct{} // closed when net/http notices that the client has left, while it looks
	socket *leanConn       // to be asked whether the client is there, set under mu once net/http does not look

	mu        sync.Mutex
	pending   [][]byte
	frames    int // of pending, those that count
	bytes     int
	held      []frame // live events that wait for a replay to end
	heldBytes int
	holding   bool
	muted     bool
	checking  bool // is on its way to the Cap
	ended     reason
	awaited   bool     // a writer waits for its signal
	sched     bool     // a writer has it or will
	cursors   []string // nil when nothing was seen
	since     []string // cursors at the time when events may have been lost
	recent    []uint64 // a ring of keys of the sent events
	oldest    int
	traced    *[]*delivered // of pending; nil where there are none, to keep streams small
}

// push gives the stream an event.
func (s *stream) push(f *frame) {
	s.mu.Lock()
	switch {
	case s.ended != 0:
	case f.mutes && s.muted:
		s.hub.stats.muted.Add(1)
	case s.holding:
		if s.heldBytes += len(f.bytes); len(s.held) >= s.hub.cfg.MaxFrames || s.heldBytes > s.hub.cfg.MaxBytes {
			s.cut()
			break
		}
		s.held = append(s.held, *f)
		f.trace.took()
	default:
		if s.add(f, true) {
			f.trace.took()
			s.tracks(f.trace)
		}
	}
	s.unlockAndSignal()
}

// add appends an event to pending, once. Live events are bounded; a replay is not,
// since it is not the client's fault. It reports whether the event is pending.
func (s *stream) add(f *frame, live bool) bool {
	if f.cursor >= 0 {
		if slices.Contains(s.recent, f.key) {
			s.hub.stats.duplicates.Add(1)
			return false
		}
		if len(s.recent) < recall {
			s.recent = append(s.recent, f.key)
		} else {
			s.recent[s.oldest%len(s.recent)] = f.key
			s.oldest++
		}
	}
	if live {
		if s.frames++; s.frames > s.hub.cfg.MaxFrames || s.bytes+len(f.bytes) > s.hub.cfg.MaxBytes {
			s.cut()
			return false
		}
		s.bytes += len(f.bytes)
	}
	s.hub.stats.sent.Add(1)
	if f.cursor < 0 {
		s.pending = append(s.pending, f.bytes)
		return true
	}
	if s.cursors == nil {
		s.cursors = make([]string, len(s.hub.cfg.Cursors))
	}
	s.cursors[f.cursor] = f.id
	for i, id := range s.cursors {
		if id != "" && i != f.cursor {
			tail := append(appendID(nil, formatID(s.hub.cfg.Cursors, s.cursors)), '\n')
			s.pending = append(s.pending, f.bytes[:f.body], tail)
			return true
		}
	}
	s.pending = append(s.pending, f.bytes)
	return true
}

// ping adds a sign of life, unless frames are pending anyway.
func (s *stream) ping() {
	s.mu.Lock()
	if s.ended == 0 && len(s.pending) == 0 {
		s.pending = append(s.pending, s.hub.pingFrame)
		if s.lean != nil {
			s.lean.probe = true
		}
	}
	s.unlockAndSignal()
}

// cut ends a stream whose client does not read. Its pending frames are dropped: the
// client gets the events by its cursor, when it comes back.
func (s *stream) cut() {
	s.pending, s.frames, s.bytes = nil, 0, 0
	s.forgetHeld()
	s.forgetTraced()
	s.ended = endedSlow
}

// end lets the stream end with a last frame. The first reason counts.
func (s *stream) end(why reason, last []byte) {
	s.mu.Lock()
	if s.ended == 0 {
		s.ended = why
		s.forgetHeld()
		if len(last) > 0 {
			s.pending = append(s.pending, last)
		}
	}
	s.unlockAndSignal()
}

// unlockAndSignal unlocks, and wakes the writer when there is something to write.
func (s *stream) unlockAndSignal() {
	queue := s.awaited && !s.sched && (len(s.pending) > 0 || s.ended != 0)
	if queue {
		s.sched = true
	}
	// With half of a backlog the writer does not wait for more.
	hurry := s.awaited && (s.frames > s.hub.cfg.MaxFrames/2 || s.bytes > s.hub.cfg.MaxBytes/2)
	lean := s.lean != nil
	s.mu.Unlock()
	if queue {
		s.hub.flusher.add(s)
	}
	switch {
	case !hurry:
	case lean:
		notify(s.hub.flusher.hurry)
	default:
		notify(s.wake)
	}
}

// take appends the pending frames to b, and returns their traced deliveries. The
// next frame wakes a handler that has taken.
func (s *stream) take(b []byte) ([]byte, reason, *[]*delivered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range s.pending {
		b = append(b, p...)
		s.pending[i] = nil
	}
	if s.pending = s.pending[:0]; cap(s.pending) > 4 {
		s.pending = nil
	}
	s.frames, s.bytes = 0, 0
	if s.lean == nil {
		s.sched = false
	}
	traced := s.traced
	s.traced = nil
	return b, s.ended, traced
}

// hold keeps live events back until release. A stream that opens holds them from
// the start.
func (s *stream) hold(opens bool) (since []string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != 0 || s.holding != opens || s.since == nil {
		return nil, false
	}
	s.holding = true
	since, s.since = s.since, nil
	return since, true
}

// mark records the cursors from which on events may have been lost.
func (s *stream) mark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since == nil {
		s.since = s.stands()
	}
}

// stands is the client's cursors, in a slice that is not nil.
func (s *stream) stands() []string {
	if s.cursors == nil {
		return s.hub.nothing
	}
	return slices.Clone(s.cursors)
}

func (s *stream) marked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since != nil && s.ended == 0
}

// passOver gives a missed event the id of those directly behind it that have come live: after
// it the client has them too. It would get them again if it came back with the event's own id.
func (s *stream) passOver(missed []frame) {
	behind := make([]string, len(s.hub.cfg.Cursors)) // the last id of those, by cursor
	for i := len(missed) - 1; i >= 0; i-- {
		f := &missed[i]
		if f.cursor < 0 {
			continue
		}
		id := &behind[f.cursor]
		switch came := slices.Contains(s.recent, f.key); {
		case came && *id == "":
			*id = f.id
		case !came && *id != "":
			f.id, *id = *id, ""
			f.bytes = append(appendID(f.bytes[:f.body], s.hub.plainID(f.cursor, f.id)), '\n')
		}
	}
}

// release adds the missed events, and then those that came in the meantime. Where the broker was
// down, it sets the mark in between: more may have been lost since the events were read.
func (s *stream) release(missed []frame, lossy bool) {
	s.mu.Lock()
	s.passOver(missed)
	came := slices.Clone(s.recent) // what is added takes its place
	known := make(map[uint64]struct{}, len(missed))
	for i := range missed {
		f := &missed[i]
		known[f.key] = struct{}{}
		switch {
		case f.cursor >= 0 && slices.Contains(came, f.key):
			s.hub.stats.duplicates.Add(1)
		case s.ended == 0 && !(f.mutes && s.muted):
			s.add(f, false)
		}
	}
	if lossy || s.since != nil {
		s.since = s.stands()
	}
	held := s.held
	s.holding, s.held, s.heldBytes = false, nil, 0
	for i := range held {
		f := &held[i]
		if _, again := known[f.key]; again && f.cursor >= 0 {
			s.hub.stats.duplicates.Add(1)
			f.trace.done(true) // by the replay
		} else if s.ended == 0 && s.add(f, true) {
			s.tracks(f.trace)
		} else {
			f.trace.done(false)
		}
	}
	s.unlockAndSignal()
}
