package queuetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

func walkCases() []testCase {
	return []testCase{
		{Name: "random-walks", Needs: []conformance.Need{NeedClock}, Run: randomWalks},
	}
}

func randomWalks(ctx context.Context, h Harness) error {
	for seed := range uint64(40) {
		if _, err := Walk(ctx, h, random(100+seed), 150); err != nil {
			return fmt.Errorf("walk %d: %w", seed, err)
		}
	}
	return nil
}

// Source chooses the next step of a [Walk]: a number of 0 to n-1. A
// math/rand/v2.Rand is one, and so is a property test's generator.
type Source interface {
	IntN(n int) int
}

// walker is a crowd, with the processes that serve it.
type walker struct {
	*player
	m         *model
	src       Source
	users     []string
	tickets   map[string]driver.Visit
	processes [3]process
}

// process is one instance: its pending beats, when it last heard of the epochs that
// it knows, and its copy of the line.
type process struct {
	epoch uint64
	beats []int64
	heard [2]driver.Heard
	top   int64 // the highest order that it has seen
	seen  snapshot
}

func (p *process) learn(s driver.State) {
	if p.heard[0].Epoch != s.Epoch {
		p.heard[1] = p.heard[0]
	}
	p.heard[0] = driver.Heard{Epoch: s.Epoch, At: s.Now}
}

// Walk drives a new event of the store through random steps and compares each
// answer with a simple model. The steps are users who come, ask, are silent and
// leave; processes that crash with their pending beats or have a wrong clock;
// changed thresholds, pauses, admissions, sweeps and losses; and time that passes.
// It returns the number of steps: fewer than asked for, without an error, when the
// clock came too close to a deadline to say which answer is right. The harness must
// have Advance.
func Walk(ctx context.Context, h Harness, src Source, most int) (int, error) {
	r := limited(3)
	// Time moves in whole seconds, so that no deadline coincides with a call. Seen and Settle
	// are compared with the steps of real clocks too: they end in the middle of a second.
	r.Active, r.NoShow, r.Seen, r.Settle = 300300*time.Millisecond, 150400*time.Millisecond, 600500*time.Millisecond, 70500*time.Millisecond
	r.SweepEvery, r.Batch, r.Turn = 30500*time.Millisecond, 2, 3500*time.Millisecond
	r.Keep, r.Lanes = 1800100*time.Millisecond, []driver.Lane{{Name: "fast", Share: walkShare}}
	h = complete(h)
	w := &walker{player: newPlayer(ctx, h, r), m: newModel(r), src: src, users: names("w", 12), tickets: map[string]driver.Visit{}}
	if h.Skew != nil {
		defer h.Skew(0)
	}
	if err := steps.Try(w.begin); err != nil {
		return 0, err
	}
	for i := range most {
		what, step := w.next()
		err := steps.Try(step)
		if errors.Is(err, errTooClose) {
			return i, nil
		}
		if err != nil {
			return i, fmt.Errorf("step %d, %s: %w", i, what, err)
		}
	}
	return most, nil
}

// begin is the first call of an epoch.
func (w *walker) begin() {
	got := w.visit(checks(w.users[0])...)
	w.m.epoch, w.m.begun = got.Epoch, got.Now
	w.follow(checks(w.users[0]), got)
}

// next chooses a step of one of the processes.
func (w *walker) next() (what string, step func()) {
	i := w.src.IntN(len(w.processes))
	w.store = w.h.Peers[i%len(w.h.Peers)]
	one := &w.processes[i]
	switch n := w.src.IntN(40); {
	case n < 14:
		return "visit", func() { w.come(one) }
	case n < 18:
		return "poll", func() { w.poll(one) }
	case n < 21:
		return "flush", func() { w.flush(one) }
	case n < 22:
		return "crash", func() { *one = process{} }
	case n < 28:
		seconds := []int{1, 5, 31, 100, 200, 300, 500}[w.src.IntN(7)]
		return "time", func() { w.h.Advance(time.Duration(seconds) * time.Second) }
	case n < 32:
		return "admission", w.admission
	case n < 34:
		return "sweep", w.sweeping
	case n < 36:
		return "look", func() { w.look(one) }
	case n < 39:
		return "change", w.operate
	default:
		return "upset", w.upset
	}
}
