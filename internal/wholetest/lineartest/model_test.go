package lineartest

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/millrace-go/millrace/coalesce"
)

// call is the input of an operation on the one key of a history.
type call struct {
	what   string // request, release, done, extend, current
	p      coalesce.Priority
	again  bool
	ticket coalesce.Ticket
}

// answer is the output of a call.
type answer struct {
	decision coalesce.Decision
	held     bool // release, extend: the ticket held the lock
	again    bool
	next     coalesce.Ticket
	version  int64 // current; 0 when unknown
}

// issued returns the version that an answer hands out, or 0.
func (a answer) issued() int64 {
	if a.again {
		return a.next.Version
	}
	if a.decision.Mine() {
		return a.decision.Ticket.Version
	}
	return 0
}

// state of the key in the model.
type state struct {
	held   bool
	ticket coalesce.Ticket   // the holder of the lock
	mark   coalesce.Priority // one more run is wanted
	last   int64             // the newest version
	seen   sightings         // of the newest version, until now
}

// linearizable searches for an order that explains the history.
func linearizable(history []porcupine.Operation, expiry bool) porcupine.CheckResult {
	h := read(history)
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{}} },
		Step: func(s, in, out any) []any {
			now := s.(state)
			next := h.after(now, in.(call), out.(answer))
			if expiry && now.held && h.mayVanish(now) {
				next = append(next, h.after(now.free(), in.(call), out.(answer))...)
			}
			return next
		},
		DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v → %+v", in, out) },
	}
	// The proof that no order exists can take for ever.
	return porcupine.CheckOperationsTimeout(m.ToModel(), history, 2*time.Minute)
}

func (s state) free() state { return state{last: s.last, seen: s.seen} }

// after returns the states in which a call and its answer can leave the key; none
// when this answer is not possible.
func (h hindsight) after(s state, c call, a answer) []any {
	switch c.what {
	case "request":
		return h.requested(s, c, a.decision)
	case "current":
		if a.version != s.last {
			return nil
		}
		s.seen.current++
		return []any{s}
	}
	has := s.held && s.ticket == c.ticket
	switch {
	case c.what == "extend" && has:
		s.seen.holder++
		return only(a.held, s)
	case c.what == "release" && has:
		return only(a.held && h.mayEnd(s), s.free())
	case c.what == "done" && has && s.mark != "":
		if !a.again {
			return nil
		}
		return h.taken(s, a.next, s.mark, "")
	case c.what == "done" && has:
		return only(!a.again && h.mayVanish(s), s.free())
	}
	return only(!a.held && !a.again, s)
}

func (h hindsight) requested(s state, c call, d coalesce.Decision) []any {
	upgrades := s.held && s.ticket.Priority == coalesce.Low && c.p == coalesce.High
	switch {
	case !s.held && d.Outcome == coalesce.Published:
		return h.taken(s, d.Ticket, c.p, "")
	case upgrades && d.Outcome == coalesce.Upgraded:
		return h.taken(s, d.Ticket, c.p, s.mark)
	case s.held && !upgrades && d.Outcome == coalesce.AlreadyProcessing && d.Ticket == s.ticket:
		s.seen.holder++
		if c.again && s.mark != coalesce.High {
			s.mark = c.p
		}
		return []any{s}
	}
	return nil
}

// taken is the state after a ticket got the lock, or none when it may not.
func (h hindsight) taken(s state, t coalesce.Ticket, p, mark coalesce.Priority) []any {
	if t.Priority != p || t.Version <= s.last || !h.mayPass(s, t.Version) {
		return nil
	}
	return []any{state{held: true, ticket: t, mark: mark, last: t.Version}}
}

func only(ok bool, s state) []any {
	if !ok {
		return nil
	}
	return []any{s}
}
