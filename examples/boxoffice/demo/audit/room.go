package audit

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
)

// seenBefore is how old a waiting room's answer may be: the room answers by a view of
// the line that may be so old.
const seenBefore = 3 * time.Second

// judgeRooms compares the waiting rooms with their answers to waiting fans.
func (a *audit) judgeRooms() {
	if !a.s.Lines {
		return
	}
	rooms := a.s.Crowd.Rooms()
	a.find.Announce(checkPlaces, "at most %d of %d places taken in one show", rooms.Fullest, rooms.Places)
	if rooms.Beyonds > 0 {
		a.find.Fault(checkPlaces, "%s%s", strings.Join(rooms.Beyond, "; "), judge.More(rooms.Beyonds-len(rooms.Beyond)))
	}
	waited := 0
	for _, p := range rooms.Passages {
		if p.Waited() {
			waited++
		}
	}
	a.find.Announce(checkOrder, "%d let in, %d of them from a line", len(rooms.Passages), waited)
	if rooms.Backs > 0 {
		a.find.Fault(checkOrder, "%s%s", strings.Join(rooms.Back, "; "), judge.More(rooms.Backs-len(rooms.Back)))
	}
	for _, pair := range overtaken(rooms.Passages) {
		a.find.Fault(checkOrder, "somebody who came to %s was inside after %.1f s, and somebody who stood in line before them still waited %.1f s later",
			pair[0].Event, pair[1].Entered.Sub(pair[1].Asked).Seconds(), pair[0].Queued.Sub(pair[1].Entered).Seconds())
	}
}

// overtaken are pairs of which the first stood in line when the second came, and
// still did when the second was inside. Pairs that overlap are left out, and pairs
// that an old view of the line explains. Of two that wait for returned seats, the one that
// polls first may get the last: then the other is told that the show is sold out.
func overtaken(passages []crowd.Passage) (pairs [][2]crowd.Passage) {
	events := map[string][]crowd.Passage{}
	for _, p := range passages {
		events[p.Event] = append(events[p.Event], p)
	}
	for _, all := range events {
		first := slices.DeleteFunc(slices.Clone(all), func(p crowd.Passage) bool { return !p.Waited() })
		slices.SortFunc(first, func(a, b crowd.Passage) int { return a.Told.Compare(b.Told) })
		slices.SortFunc(all, func(a, b crowd.Passage) int { return a.Asked.Compare(b.Asked) })
		// Of those in line before, the one that waited longest, and longest with free seats.
		var last, open crowd.Passage
		next := 0
		for _, p := range all {
			for ; next < len(first) && first[next].Told.Before(p.Asked); next++ {
				if first[next].Queued.After(last.Queued) {
					last = first[next]
				}
				if first[next].Open.After(open.Open) {
					open = first[next]
				}
			}
			switch {
			case !p.Waited() && last.Queued.Sub(p.Entered) > seenBefore:
				pairs = append(pairs, [2]crowd.Passage{last, p})
			case p.Waited() && open.Open.Sub(p.Entered) > seenBefore:
				pairs = append(pairs, [2]crowd.Passage{open, p})
			}
		}
	}
	slices.SortFunc(pairs, func(a, b [2]crowd.Passage) int {
		return cmp.Or(strings.Compare(a[0].Event, b[0].Event), a[1].Entered.Compare(b[1].Entered))
	})
	return pairs
}
