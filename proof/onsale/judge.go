package onsale

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
)

// standing is a person's state in the store at the end.
type standing struct {
	status queue.Status
	order  int64
}

// census asks the store itself for all people, by name.
func census(ctx context.Context, store driver.Store, event string, rules driver.Rules, people int) (all []standing, state queue.State, err error) {
	for from := 0; from < people; from += driver.MaxVisits {
		visits := make([]driver.Visit, min(driver.MaxVisits, people-from))
		for i := range visits {
			visits[i] = driver.Visit{Kind: driver.Heartbeat, User: user(int32(from + i))}
		}
		v, err := store.Visit(ctx, event, rules, driver.Beats{}, visits)
		if err != nil {
			return nil, state, err
		}
		for _, o := range v.Outcomes {
			all = append(all, standing{o.Status, o.Order})
		}
		state = v.State
	}
	return all, state, nil
}

// evidence is the basis of a verdict.
type evidence struct {
	cfg    Config
	people []person
	last   []standing // of each
	state  queue.State

	entries    []admission // turns and people let in at once, in order
	places     []admission // that people took
	answers    int
	unanswered int
	over       int
	orders     []int64
	moved      int

	forgotten, unsealed int64
}

// findings checks the whole on-sale.
func findings(e evidence) []judge.Check {
	right, inverted, example := fairness(e.turns())
	twice := e.twice()
	known := judge.Peak(e.known())
	taken := judge.Peak(e.taken())
	unheard := e.unheard()
	lost, back, waits := e.missing()
	return []judge.Check{
		judge.That("places taken beyond the threshold, by each answer of the store", e.over <= 0, "%d in %d answers (at most %d of %d taken)", max(0, e.over), e.answers, e.cfg.Threshold+e.over, e.cfg.Threshold),
		judge.That("people inside beyond the threshold, by what they were told", known <= e.cfg.Threshold, "%d (at most %d at once)", max(0, known-e.cfg.Threshold), known),
		judge.That("places taken beyond it, by who took one when", taken <= e.cfg.Threshold, "%d (at most %d at once)", max(0, taken-e.cfg.Threshold), taken),
		judge.That("admissions in the order of arrival", inverted == 0, "Kendall tau %.6f: %d of %d pairs that did not overlap are inverted%s", tau(right, inverted), inverted, right+inverted, e.pair(inverted, example)),
		judge.That("inside without an admission", unheard <= e.unanswered*max(e.cfg.Batch, driver.MaxVisits), "%d, and %d calls of the store that got no answer", unheard, e.unanswered),
		judge.That("admitted twice", twice == 0, "%d of %d admissions", twice, len(e.entries)),
		judge.That("lost: alive, and neither in line nor inside at the end", lost == 0, "%d", lost),
		judge.That("still there although they have left", back == 0, "%d", back),
		judge.That("places in line that changed, or were forgotten", e.moved == 0 && e.forgotten == 0 && waits == 0, "%d changed, %d answers forgot somebody, %d stand elsewhere at the end", e.moved, e.forgotten, waits),
		judge.That("the length of the line is how many stand in it", e.state.Waiting == e.standing(queue.Waiting), "%d and %d", e.state.Waiting, e.standing(queue.Waiting)),
		judge.That("inside without an entry token", e.unsealed == 0, "%d", e.unsealed),
		judge.Control("the room was full, and people can be compared", e.over >= 0 && right+inverted > 0, "at most %d of %d taken, %d pairs", max(0, e.cfg.Threshold+e.over), e.cfg.Threshold, right+inverted),
	}
}

func (e evidence) standing(status queue.Status) (n int) {
	for _, s := range e.last {
		if s.status == status {
			n++
		}
	}
	return n
}

// turns are those of people who came and stayed. Leavers take no part in the order,
// nor do crashed people, whose place may pass. A person whose admission got lost on
// its way from the store cannot be compared.
func (e evidence) turns() []turn {
	ranks := map[int32]int64{}
	for i, a := range e.entries {
		if _, again := ranks[a.person]; !again {
			ranks[a.person] = int64(i)
		}
	}
	var turns []turn
	for i, p := range e.people {
		rank, admitted := ranks[int32(i)]
		if p.first.to == 0 || !admitted && (p.stage == left || p.stage == crashed || e.was(i)) {
			continue
		}
		if !admitted {
			rank = never
		}
		turns = append(turns, turn{int64(p.first.from), int64(p.first.to), rank, int32(i)})
	}
	return turns
}

// pair describes an example of an inverted pair.
func (e evidence) pair(inverted int64, example [2]turn) string {
	if inverted == 0 {
		return ""
	}
	text := ", such as"
	for _, t := range example {
		text += fmt.Sprintf(" %s, lined up within %s and %s as %d,", user(t.person), time.Duration(t.from), time.Duration(t.to), e.orders[t.person])
		if t.rank == never {
			text += " not admitted;"
			continue
		}
		a := e.entries[t.rank]
		text += fmt.Sprintf(" admitted within %s and %s as %d;", a.began, a.heard, a.order)
	}
	return strings.TrimSuffix(text, ";")
}

// was says whether a person has been inside, by any admission.
func (e evidence) was(i int) bool {
	return e.people[i].stay.from > 0 || e.last[i].status == queue.Active
}

// unheard counts people inside without an admission.
func (e evidence) unheard() (n int) {
	admitted := e.admitted()
	for i := range e.people {
		if e.was(i) && !admitted[int32(i)] {
			n++
		}
	}
	return n
}

func (e evidence) admitted() map[int32]bool {
	admitted := map[int32]bool{}
	for _, a := range e.entries {
		admitted[a.person] = true
	}
	return admitted
}

// twice counts repeated admissions of a person, except as a no-show whose place had
// been given up in between.
func (e evidence) twice() (n int) {
	last := map[int32]admission{}
	for _, a := range e.entries {
		if before, again := last[a.person]; again && a.heard-before.began < e.cfg.NoShow {
			n++
		}
		last[a.person] = a
	}
	return n
}

// known is when people were inside by their own account, which lies within the
// store's account: from the answer that says so to the call that ends it.
func (e evidence) known() []judge.Span {
	var stays []judge.Span
	for _, p := range e.people {
		if p.stay.from > 0 {
			stays = append(stays, judge.Span{From: p.stay.from, To: p.stay.to})
		}
	}
	return stays
}

// taken is when places were taken: from the answer of the store that gives one, to the
// call that ends it.
func (e evidence) taken() []judge.Span {
	var spans []judge.Span
	for _, a := range e.places {
		spans = append(spans, judge.Span{From: a.heard, To: e.people[a.person].stay.to})
	}
	return spans
}

// missing counts the absent among the living, those present although they have
// gone, and those waiting at another place than before.
func (e evidence) missing() (lost, back, elsewhere int) {
	admitted := e.admitted()
	for i, p := range e.people {
		n, now := int32(i), e.last[i]
		switch p.stage {
		case waiting:
			// The admitted are inside, or missed the turn and may come back to it.
			if now.status == queue.None && !admitted[n] {
				lost++
			}
		case inside:
			if now.status != queue.Active {
				lost++
			}
		case done, left:
			// A call to leave may have been carried out without an answer.
			if now.status != queue.None {
				back++
			}
		}
		if now.status == queue.Waiting && e.orders[i] > 0 && e.orders[i] != now.order {
			elsewhere++
		}
	}
	return lost, back, elsewhere
}
