package officetest

import (
	"net/http"
	"slices"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
)

// check lets members in while there are places, and in their order.
func (o *Office) check(r *http.Request) (int, any) {
	if o.strikes(ServerError) {
		return problem(500, "something broke")
	}
	event, who := r.PathValue("event"), member(r)
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.inside[event][who] && o.soldOut(event) {
		return 410, map[string]any{"type": "/problems/sold-out", "status": 410}
	}
	if o.inside[event] == nil {
		o.inside[event] = map[string]bool{}
	}
	if !o.inside[event][who] && !slices.Contains(o.line[event], who) {
		at := len(o.line[event])
		if o.fault == PushIn {
			at = 0
		}
		o.line[event] = slices.Insert(o.line[event], at, who)
	}
	for len(o.line[event]) > 0 && (o.threshold == 0 || len(o.inside[event]) < o.threshold) {
		o.inside[event][o.line[event][0]] = true
		o.line[event] = o.line[event][1:]
	}
	o.most = max(o.most, len(o.inside[event]))
	place := crowd.Place{QueueSize: len(o.line[event]), CurrentUsers: len(o.inside[event]), Threshold: o.threshold}
	if o.threshold == 0 {
		place.Threshold = len(o.inside[event])
	}
	if o.strikes(Overfull) {
		place.CurrentUsers = place.Threshold + 1
	}
	if !o.inside[event][who] {
		place.Status, place.Position, place.NextPoll = "queued", 1+slices.Index(o.line[event], who), .05
		place.SoldOut = o.noFree
		return 200, place
	}
	place.Status, place.EntryToken = "active", "entry:"+event+":"+who
	return 200, place
}

func (o *Office) soldOut(event string) bool {
	return o.fault == FalseSoldOut || !slices.ContainsFunc(o.seats[event], func(s *seat) bool { return s.Status != "SOLD" })
}

func (o *Office) leave(r *http.Request) (int, any) {
	event, who := r.PathValue("event"), member(r)
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.inside[event], who)
	o.line[event] = slices.DeleteFunc(o.line[event], func(other string) bool { return other == who })
	return 204, nil
}

// Inside returns how many are inside the events or in line, and the most that ever
// were inside one.
func (o *Office) Inside() (now, most int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for event := range o.inside {
		now += len(o.inside[event]) + len(o.line[event])
	}
	return now, o.most
}
