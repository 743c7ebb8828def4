package officetest

import (
	"net/http"
	"slices"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
)

// room is the waiting room of each event.
type room struct {
	*trouble
	sale      *sale
	threshold int
	noFree    bool

	inside map[string]map[string]bool // members by event
	line   map[string][]string
	most   int // there ever were inside an event
}

// check lets members in while there are places, and in their order.
func (w *room) check(r *http.Request) (int, any) {
	if w.strikes(ServerError) {
		return problem(500, "something broke")
	}
	event, who := r.PathValue("event"), member(r)
	if !w.inside[event][who] && w.soldOut(event) {
		return 410, map[string]any{"type": "/problems/sold-out", "status": 410}
	}
	if w.inside[event] == nil {
		w.inside[event] = map[string]bool{}
	}
	if !w.inside[event][who] && !slices.Contains(w.line[event], who) {
		at := len(w.line[event])
		if w.fault == PushIn {
			at = 0
		}
		w.line[event] = slices.Insert(w.line[event], at, who)
	}
	for len(w.line[event]) > 0 && (w.threshold == 0 || len(w.inside[event]) < w.threshold) {
		w.inside[event][w.line[event][0]] = true
		w.line[event] = w.line[event][1:]
	}
	w.most = max(w.most, len(w.inside[event]))
	place := crowd.Place{QueueSize: len(w.line[event]), CurrentUsers: len(w.inside[event]), Threshold: w.threshold}
	if w.threshold == 0 {
		place.Threshold = len(w.inside[event])
	}
	if w.strikes(Overfull) {
		place.CurrentUsers = place.Threshold + 1
	}
	if !w.inside[event][who] {
		place.Status, place.Position, place.NextPoll = "queued", 1+slices.Index(w.line[event], who), .05
		place.SoldOut = w.noFree
		return 200, place
	}
	place.Status, place.EntryToken = "active", "entry:"+event+":"+who
	return 200, place
}

func (w *room) soldOut(event string) bool {
	return w.fault == FalseSoldOut || !slices.ContainsFunc(w.sale.seats[event], func(s *seat) bool { return s.Status != "SOLD" })
}

func (w *room) leave(r *http.Request) (int, any) {
	event, who := r.PathValue("event"), member(r)
	delete(w.inside[event], who)
	w.line[event] = slices.DeleteFunc(w.line[event], func(other string) bool { return other == who })
	return 204, nil
}

// Inside returns how many are inside the events or in line, and the most that ever
// were inside one.
func (w *room) Inside() (now, most int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for event := range w.inside {
		now += len(w.inside[event]) + len(w.line[event])
	}
	return now, w.most
}
