package sse

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/millrace-go/millrace/sse/driver"
)

// register gives a stream a place in the Cap. Where the Cap would have to evict a
// stream, register first asks which of the member's streams still have a client: a
// dead stream is removed before a live one.
func (h *Hub) register(ctx context.Context, held instanceLease, s *stream, onlyIfFree bool) (driver.Opened, error) {
	rules, live := h.cfg.rules(), held.live
	rules.NoVictims = true
	opened, err := h.openCap(ctx, rules, live, s.conn)
	if err != nil || opened.Full == nil {
		return opened, err
	}
	live.Gone, live.Silent = h.look(ctx, held.instance, s.conn, opened.Full)
	rules.NoVictims = onlyIfFree
	ghosts := opened.Ghosts
	opened, err = h.openCap(ctx, rules, live, s.conn)
	opened.Ghosts += ghosts
	if err == nil && opened.Full != nil {
		return opened, ErrFull
	}
	return opened, err
}

func (h *Hub) openCap(ctx context.Context, r driver.Rules, live driver.Live, c driver.Conn) (driver.Opened, error) {
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Timeout)
	defer cancel()
	return h.cap.Open(ctx, r, live, c)
}

// look finds the member's connections without a client (gone), and those for which
// no process answers (silent). It asks other instances through the broker for at
// most half of Config.Timeout. If it may have missed an answer, silent is empty.
func (h *Hub) look(ctx context.Context, instance string, asks driver.Conn, conns []driver.Conn) (gone, silent []string) {
	var others []string
	for _, c := range conns {
		switch here, left := h.left(instance, c.ID); {
		case !here:
			others = append(others, c.ID)
		case left:
			gone = append(gone, c.ID)
		}
	}
	gaps, hears := h.stats.gaps.Load(), h.hears()
	if len(others) == 0 || !hears {
		return gone, nil
	}
	q := h.questions.open(asks.ID, others)
	defer h.questions.close(asks.ID)
	m := driver.Message{Kind: driver.Ask, To: asks.Member, Arg: asks.ID, Frame: []byte(strings.Join(others, "\n"))}
	if err := h.publish(ctx, m); err != nil {
		h.cfg.Logger.Warn("sse: other processes could not be asked for a member's streams", "error", err)
		return gone, nil
	}
	late := time.NewTimer(h.cfg.Timeout / 2)
	defer late.Stop()
	select {
	case <-q.answered:
	case <-late.C:
	}
	theirs, silent := q.result()
	if !h.hears() || h.stats.gaps.Load() != gaps {
		silent = nil
	}
	return append(gone, theirs...), silent
}

func (h *Hub) hears() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.brokerUp
}

// left says whether a connection is of this process, and if so whether its client
// has left. A stream whose client has left ends.
func (h *Hub) left(instance, id string) (here, left bool) {
	s := h.audience.connection(id)
	if s == nil { // one that was here has ended, and its entry is about to go
		return driver.Instance(id) == instance, true
	}
	if left = s.left(); left {
		s.end(endedGone, nil)
	}
	return true, left
}

// left asks the socket whether the client is still connected. A stream without such a
// socket relies on net/http to notice.
func (s *stream) left() bool {
	s.mu.Lock()
	ended, socket, away := s.ended != 0, s.socket, s.away
	s.mu.Unlock()
	switch {
	case ended:
		return true
	case socket != nil:
		return !socket.alive()
	}
	select {
	case <-away:
		return true
	default:
		return false
	}
}

// questions are the questions of this process that wait for answers, by the
// connection that wants a place.
type questions struct {
	mu  sync.Mutex
	all map[string]*question
}

type question struct {
	answered chan struct{} // closed when nothing waits

	mu    sync.Mutex
	waits []string
	gone  []string
}

func (qs *questions) open(id string, waits []string) *question {
	q := &question{answered: make(chan struct{}), waits: waits}
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.all == nil {
		qs.all = map[string]*question{}
	}
	qs.all[id] = q
	return q
}

func (qs *questions) close(id string) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	delete(qs.all, id)
}

func (qs *questions) answer(id string, frame []byte) {
	qs.mu.Lock()
	q := qs.all[id]
	qs.mu.Unlock()
	if q != nil {
		q.hear(frame)
	}
}

// hear reads an answer. Unasked and repeated answers have no effect.
func (q *question) hear(frame []byte) {
	said := map[string]bool{} // whether there is a client
	for line := range strings.Lines(string(frame)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			said[line[1:]] = line[0] == '+'
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	before := len(q.waits)
	var waits []string
	for _, id := range q.waits {
		switch alive, known := said[id]; {
		case !known:
			waits = append(waits, id)
		case !alive:
			q.gone = append(q.gone, id)
		}
	}
	if q.waits = waits; len(waits) == 0 && before > 0 {
		close(q.answered)
	}
}

func (q *question) result() (gone, silent []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.gone, q.waits
}

// maxQuestions bounds the pending questions. For the asker a dropped question is
// silent.
const maxQuestions = 10_000

// answerer answers the questions of other processes.
type answerer struct{ backlog[driver.Message] }

func (a *answerer) run(h *Hub) func(context.Context) {
	return func(ctx context.Context) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-a.wake:
			}
			for batch := a.next(); len(batch) > 0 && ctx.Err() == nil; batch = a.next() {
				for _, m := range batch {
					h.answer(ctx, m)
				}
			}
		}
	}
}

// answer publishes which of the asked connections of this process still have
// clients, and publishes nothing when none is of this process.
func (h *Hub) answer(ctx context.Context, m driver.Message) {
	h.mu.Lock()
	instance := h.lease.instance
	h.mu.Unlock()
	var said strings.Builder
	for id := range strings.SplitSeq(string(m.Frame), "\n") {
		here, left := h.left(instance, id)
		switch {
		case !here:
			continue
		case left:
			said.WriteByte('-')
		default:
			said.WriteByte('+')
		}
		said.WriteString(id + "\n")
	}
	if said.Len() == 0 {
		return
	}
	if err := h.publish(ctx, driver.Message{Kind: driver.Answer, To: m.Arg, Frame: []byte(said.String())}); err != nil {
		h.cfg.Logger.Warn("sse: another process could not be answered", "error", err)
	}
}
