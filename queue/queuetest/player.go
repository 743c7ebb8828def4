package queuetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

// player plays the processes of one event.
type player struct {
	ctx   context.Context
	h     Harness
	store driver.Store
	event string
	r     driver.Rules
}

// rules that most cases use: no user enters at once, and a tick bounds nothing.
var rules = driver.Rules{
	Threshold: 0, Active: 600 * time.Second, Seen: 600 * time.Second, NoShow: 150 * time.Second,
	Tick: time.Second, Batch: 1_000_000, SweepEvery: 30 * time.Second, Settle: 70 * time.Second,
}

// limited is rules with a threshold.
func limited(threshold int) driver.Rules {
	r := rules
	r.Threshold = threshold
	return r
}

// play makes a case of steps, which play a new event by [rules].
func play(do func(p *player)) func(context.Context, Harness) error {
	return func(ctx context.Context, h Harness) error {
		return steps.Try(func() { do(newPlayer(ctx, h, rules)) })
	}
}

func newPlayer(ctx context.Context, h Harness, r driver.Rules) *player {
	return &player{ctx: ctx, h: h, store: h.Store, event: eventName(), r: r}
}

// other plays another event.
func (p *player) other(r driver.Rules) *player { return newPlayer(p.ctx, p.h, r) }

func eventName() string { return fmt.Sprintf("queuetest-%016x", rand.Uint64()) }

// random is the same in every run.
func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 5)) }

// names are users whose ids sort against the order of their arrival.
func names(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s%06d", prefix, n-i)
	}
	return all
}

func checks(users ...string) []driver.Visit { return visits(driver.Check, users...) }

func visits(kind driver.Kind, users ...string) []driver.Visit {
	all := make([]driver.Visit, len(users))
	for i, user := range users {
		all[i] = driver.Visit{Kind: kind, User: user}
	}
	return all
}

// visit makes as many calls as the visits need, and returns the last state with
// all outcomes.
func (p *player) visit(all ...driver.Visit) driver.Visited {
	return p.visitWith(driver.Beats{}, all...)
}

func (p *player) visitWith(b driver.Beats, all ...driver.Visit) driver.Visited {
	var sum driver.Visited
	for first := true; first || len(all) > 0; first = false {
		n := min(len(all), driver.MaxVisits)
		got, err := p.store.Visit(p.ctx, p.event, p.r, b, all[:n])
		steps.Named(err, "visit")
		if len(got.Outcomes) != n {
			steps.Fail("%d outcomes of %d visits", len(got.Outcomes), n)
		}
		for i, o := range got.Outcomes {
			if !sensible(o) {
				steps.Fail("visit %+v: the outcome is %+v", all[i], o)
			}
		}
		p.sane("visit", got.State)
		sum.State, sum.Outcomes = got.State, append(sum.Outcomes, got.Outcomes...)
		all, b = all[n:], driver.Beats{}
	}
	return sum
}

// sensible checks the invariants of every outcome.
func sensible(o driver.Outcome) bool {
	var want driver.Outcome
	switch o.Status {
	case driver.None, driver.Gated:
		want = driver.Outcome{Status: o.Status, New: o.New}
	case driver.Waiting:
		want = driver.Outcome{Status: o.Status, New: o.New, Order: o.Order, Ahead: o.Ahead, Turn: o.Turn && !o.New, Returner: o.Returner}
	case driver.Active:
		want = driver.Outcome{Status: o.Status, New: o.New, Entered: o.New, Order: o.Order, Left: o.Left}
	}
	here := o.Status == driver.Waiting || o.Status == driver.Active
	return o == want && o.Ahead >= 0 && o.Left >= 0 && here == (o.Order > 0) && o.Order <= 1<<53 && (o.Status == driver.Active) == (o.Left > 0)
}

// sane checks the invariants of every state.
func (p *player) sane(call string, s driver.State) {
	if s.Epoch == 0 || s.Now.IsZero() || s.Active < 0 || s.Silent < 0 || s.Laned < 0 || s.Returning < 0 ||
		s.Entitled < 0 || s.Entitled+s.Laned < s.Silent || s.Waiting < s.Entitled+s.Laned+s.Returning ||
		s.Settling < 0 || s.Settling > p.r.Settle || s.Rate.Admitted < 0 || s.Rate.Over < 0 || s.Rate.Over > 62*time.Second {
		steps.Fail("%s: the state is %+v", call, s)
	}
}

// one makes one visit.
func (p *player) one(v driver.Visit) driver.Outcome {
	return p.visit(v).Outcomes[0]
}

// state asks for the state of the room, and changes nothing.
func (p *player) state() driver.State {
	return p.visit().State
}

// admit gives all turns that can come in this tick, in calls of at most MaxChunk.
func (p *player) admit() driver.Admission {
	var sum driver.Admission
	for {
		a, err := p.store.Admit(p.ctx, p.event, p.r)
		steps.Named(err, "admit")
		if len(a.Admitted) > driver.MaxChunk {
			steps.Fail("one call admits %d, and may %d", len(a.Admitted), driver.MaxChunk)
		}
		if a.Next <= 0 || a.Next > p.r.Tick {
			steps.Fail("the next tick of %s is to begin in %s", p.r.Tick, a.Next)
		}
		p.sane("admit", a.State)
		// A turn comes for each free place without a taker, and for each silent user.
		if len(a.Admitted) > 0 && (a.Active+a.Entitled-a.Silent > a.Threshold+a.Silent || a.Active >= a.Threshold || a.Paused || a.Settling > 0) {
			steps.Fail("%d turns come in a room that then is %+v", len(a.Admitted), a.State)
		}
		if a.More && len(a.Admitted) == 0 {
			steps.Fail("nobody is admitted, and yet there are more: %+v", a)
		}
		a.Admitted = append(sum.Admitted, a.Admitted...)
		if sum = a; !a.More {
			return sum
		}
	}
}

// sweep sweeps to the end, and returns how many were removed.
func (p *player) sweep() int {
	removed, from := 0, int64(0)
	for {
		s, err := p.store.Sweep(p.ctx, p.event, p.r, from)
		steps.Named(err, "sweep")
		if s.Removed < 0 || s.Removed > driver.MaxChunk {
			steps.Fail("one call removes %d, and may %d", s.Removed, driver.MaxChunk)
		}
		p.sane("sweep", s.State)
		if removed += s.Removed; s.Done {
			return removed
		}
		if s.Next < from || s.Next == 0 || s.Next == from && s.Removed == 0 {
			steps.Fail("a sweep from block %d that removed %d is to go on at block %d", from, s.Removed, s.Next)
		}
		from = s.Next
	}
}

func (p *player) change(c driver.Change) driver.State {
	s, err := p.store.Change(p.ctx, p.event, p.r, c)
	steps.Named(err, "change")
	p.sane("change", s)
	return s
}

func (p *player) threshold(n int) {
	if s := p.change(driver.Change{Threshold: &n}); s.Threshold != n {
		steps.Fail("the threshold is %d after it was set to %d", s.Threshold, n)
	}
}

func (p *player) pause(on bool) {
	if s := p.change(driver.Change{Paused: &on}); s.Paused != on {
		steps.Fail("paused is %t after it was set to %t", s.Paused, on)
	}
}

func (p *player) gate(on bool, positions int64) {
	if s := p.change(driver.Change{Gate: &driver.Gate{On: on, Positions: positions}}); s.Gated != on {
		steps.Fail("gated is %t after it was set to %t", s.Gated, on)
	}
}
