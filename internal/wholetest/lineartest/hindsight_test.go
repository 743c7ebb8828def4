package lineartest

import (
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/millrace-go/millrace/coalesce"
)

// hindsight is the facts about versions from the whole history. It refuses no order
// that could explain the history, and spares the search those that could not:
//
//   - versions grow, so they were handed out in the order of their numbers;
//   - a client that saw a version with the lock, or as the current one, saw it
//     before the lock was given back, or the next version handed out;
//   - a lock that a client gave back, or upgraded, existed until then.
type hindsight struct {
	before map[int64]int64     // a version and the one handed out before it
	all    map[int64]sightings // of each version
	ended  map[int64]bool      // versions whose end is among the answers
}

// sightings counts the answers for which a version must still hold.
type sightings struct {
	holder  int // that say it has the lock, besides the one that handed it out
	current int // that say it is the newest
}

func read(history []porcupine.Operation) hindsight {
	h := hindsight{before: map[int64]int64{}, all: map[int64]sightings{}, ended: map[int64]bool{}}
	versions := []int64{0}
	var upgrades []int64
	for _, o := range history {
		c, a := o.Input.(call), o.Output.(answer)
		if v := a.issued(); v > 0 {
			versions = append(versions, v)
		}
		seen := func(v int64, holder, current int) {
			n := h.all[v]
			h.all[v] = sightings{n.holder + holder, n.current + current}
		}
		switch {
		case c.what == "request" && a.decision.Outcome == coalesce.AlreadyProcessing:
			seen(a.decision.Ticket.Version, 1, 0)
		case c.what == "extend" && a.held:
			seen(c.ticket.Version, 1, 0)
		case c.what == "current":
			seen(a.version, 0, 1)
		case a.decision.Outcome == coalesce.Upgraded:
			upgrades = append(upgrades, a.issued())
		case c.what == "release" && a.held, a.again:
			h.ended[c.ticket.Version] = true
		}
	}
	slices.Sort(versions)
	versions = slices.Compact(versions)
	for i, v := range versions[1:] {
		h.before[v] = versions[i]
	}
	for _, v := range upgrades {
		h.ended[h.before[v]] = true
	}
	return h
}

// mayEnd reports whether the lock of a state can end: all that saw it have done so.
func (h hindsight) mayEnd(s state) bool { return s.seen.holder == h.all[s.last].holder }

// mayVanish reports whether the lock can end without an answer that says so.
func (h hindsight) mayVanish(s state) bool { return h.mayEnd(s) && !h.ended[s.last] }

// mayPass reports whether a version can come after the state's newest.
func (h hindsight) mayPass(s state, version int64) bool {
	return h.before[version] == s.last && s.seen == h.all[s.last]
}
