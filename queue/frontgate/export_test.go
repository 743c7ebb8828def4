package frontgate

import (
	"context"
	"net/http"
	"time"
)

// What decides, and the handlers by themselves.
const (
	Open        = open
	Closed      = closed
	Passed      = passed
	TokenHeader = tokenHeader
)

var ErrRequest = errRequest

func (g *Gate) Decide(ctx context.Context, event, text string, members ...string) (way, int64, error) {
	return g.decide(ctx, event, text, members...)
}

func (h *Handlers) Assign(w http.ResponseWriter, r *http.Request)   { h.assign(w, r) }
func (h *Handlers) Check(w http.ResponseWriter, r *http.Request)    { h.check(w, r) }
func (h *Handlers) Activate(w http.ResponseWriter, r *http.Request) { h.state(h.gate.Activate)(w, r) }
func (h *Handlers) Advance(w http.ResponseWriter, r *http.Request)  { h.advance(w, r) }
func (h *Handlers) Status(w http.ResponseWriter, r *http.Request)   { h.state(h.gate.Status)(w, r) }

// Known is the number of events whose counters are known.
func Known(g *Gate) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.events)
}

// MinPoll and MaxPoll bound the poll interval.
const (
	MinPoll = minPoll
	MaxPoll = maxPoll
)

// PollAfter is the poll interval by distance, with a random number from 0 to 1.
var PollAfter = pollAfter

// Rounds are the sizes of rounds of 500 every 10 s after moments of one gate, each with
// the positions served, the visitors that joined the line, and the line's epoch.
func Rounds(moments ...[3]int64) (by []int64) {
	var s shows
	for i, m := range moments {
		at := time.Unix(0, 0).Add(time.Duration(i) * 10 * time.Second)
		s.add(show{at: at, serving: m[0], joined: m[1], gate: 1, line: uint64(m[2])}, 500, 10*time.Second)
		// Another process' round is soon after, and says nothing new.
		s.add(show{at: at.Add(4 * time.Second), serving: m[0], joined: m[1] + 1, gate: 1, line: uint64(m[2])}, 500, 10*time.Second)
		by = append(by, max(500, s.by))
	}
	return by
}
