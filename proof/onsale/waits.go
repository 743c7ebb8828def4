package onsale

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/memqueue"
)

// Waits is an on-sale in virtual time that compares the waits that people are told
// with those that they had.
type Waits struct {
	Name      string
	People    int           // in the line; those that find a free place at once come on top
	Arrive    time.Duration // within which all of them come
	Threshold int
	Batch     int
	Active    time.Duration                       // the longest stay
	Stay      func(draw *rand.Rand) time.Duration // of a person
	Missing   float64                             // share of no-shows
	Seed      uint64
}

// WaitsReport says which share of the told waits was within a factor of two of the
// truth.
type WaitsReport struct {
	Name   string
	Waited time.Duration // the longest wait
	First  float64       // what people were told when they came
	Half   float64       // what they were told after half of the wait
	All    float64       // all that they were told
	People float64       // people whose told waits were right for most of the time
}

// Times of the simulation.
const (
	noShowAfter = 150 * time.Second
	lookEvery   = 10 * time.Second
	followed    = 60 // people whose waits are compared
)

// turnStep is a step of a person whose turn it is.
type turnStep struct {
	deed
	leaves bool // else comes
}

// said is a wait that a person was told.
type said struct{ at, wait time.Duration }

// waitsRun is a run of Waits.
type waitsRun struct {
	Waits
	draw  *rand.Rand
	store driver.MemoryStore
	rules driver.Rules
	now   time.Duration
	steps steps[turnStep]
	stays []time.Duration

	line     []int32 // all that have lined up
	admitted int     // of them
	told     map[int32][]said
	entered  map[int32]time.Duration
}

// Run carries out the on-sale until all people were admitted.
func (w Waits) Run(ctx context.Context) (WaitsReport, error) {
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := &waitsRun{
		Waits: w, draw: rand.New(rand.NewPCG(w.Seed, 5)), told: map[int32][]said{}, entered: map[int32]time.Duration{},
		rules: driver.Rules{
			Threshold: w.Threshold, Active: w.Active, Seen: 24 * time.Hour, NoShow: noShowAfter, Tick: time.Second, Batch: w.Batch, Turn: 3100 * time.Millisecond,
			SweepEvery: 30 * time.Second, Settle: 70 * time.Second,
		},
	}
	var err error
	if r.store, err = memqueue.New(memqueue.Config{Now: func() time.Time { return begin.Add(r.now) }}); err != nil {
		return WaitsReport{}, err
	}
	people := w.Threshold + w.People
	r.stays = make([]time.Duration, people)
	for i := range r.stays {
		r.stays[i] = w.Stay(r.draw)
	}
	came := 0
	for second := time.Duration(0); came < people || r.admitted < len(r.line); second += time.Second {
		if second > 100*time.Hour {
			return WaitsReport{}, fmt.Errorf("%s: after 100 hours %d people wait", w.Name, len(r.line)-r.admitted)
		}
		for ; came < people && time.Duration(float64(came)/float64(people)*float64(w.Arrive)) <= second; came++ {
			r.now = second
			if err := r.come(ctx, int32(came)); err != nil {
				return WaitsReport{}, err
			}
		}
		for len(r.steps) > 0 && r.steps[0].at <= second {
			if err := r.step(ctx, heap.Pop(&r.steps).(turnStep)); err != nil {
				return WaitsReport{}, err
			}
		}
		r.now = second
		if err := r.admit(ctx); err != nil {
			return WaitsReport{}, err
		}
		if second%lookEvery == 0 {
			if err := r.tell(ctx); err != nil {
				return WaitsReport{}, err
			}
		}
	}
	report := r.report()
	if math.IsNaN(report.People) {
		return report, fmt.Errorf("%s: of those that were told a wait, none has entered", w.Name)
	}
	return report, nil
}

func (r *waitsRun) visit(ctx context.Context, visits ...driver.Visit) (driver.Visited, error) {
	return r.store.Visit(ctx, "e", r.rules, driver.Beats{}, visits)
}

// come lines a person up, or lets the person in at once.
func (r *waitsRun) come(ctx context.Context, person int32) error {
	v, err := r.visit(ctx, driver.Visit{Kind: driver.Check, User: user(person)})
	if err != nil {
		return err
	}
	if v.Outcomes[0].Entered {
		heap.Push(&r.steps, turnStep{deed{r.now + r.stays[person], person}, true})
		return nil
	}
	r.line = append(r.line, person)
	if (len(r.line)-1)%max(1, r.People/followed) == 0 {
		r.told[person] = nil
	}
	return nil
}

func (r *waitsRun) step(ctx context.Context, s turnStep) error {
	r.now = s.at
	if s.leaves {
		_, err := r.visit(ctx, driver.Visit{Kind: driver.Done, User: user(s.person)})
		return err
	}
	v, err := r.visit(ctx, driver.Visit{Kind: driver.Heartbeat, User: user(s.person)})
	if err != nil {
		return err
	}
	if v.Outcomes[0].Entered {
		r.entered[s.person] = r.now
		heap.Push(&r.steps, turnStep{deed{s.at + r.stays[s.person], s.person}, true})
	} else {
		heap.Push(&r.steps, turnStep{deed{s.at + time.Second, s.person}, false})
	}
	return nil
}

func (r *waitsRun) admit(ctx context.Context) error {
	a, err := r.store.Admit(ctx, "e", r.rules)
	if err != nil {
		return err
	}
	for _, one := range a.Admitted {
		person := number(one.User)
		r.admitted++
		if r.draw.Float64() >= r.Missing {
			heap.Push(&r.steps, turnStep{deed{r.now + time.Duration(r.draw.Float64()*float64(time.Second)), person}, false})
		}
	}
	return nil
}

// tell tells the followed people in line how long they will wait.
func (r *waitsRun) tell(ctx context.Context) error {
	v, err := r.visit(ctx)
	if err != nil {
		return err
	}
	for i, person := range r.line[r.admitted:] {
		if _, follow := r.told[person]; !follow {
			continue
		}
		wait, known := queue.EstimateWait(v.State, v.Entitled+i+1)
		if !known {
			return fmt.Errorf("%s: the wait is not known at %s", r.Name, r.now)
		}
		r.told[person] = append(r.told[person], said{r.now, wait})
	}
	return nil
}

// grain is a difference of waits that does not matter to people.
const grain = 10 * time.Second

func near(told, truth time.Duration) bool {
	return told <= 2*truth+grain && truth <= 2*told+grain
}

func (r *waitsRun) report() WaitsReport {
	report := WaitsReport{Name: r.Name}
	people, all := 0.0, 0.0
	for person, told := range r.told {
		if len(told) == 0 {
			continue // the turn came before the first look
		}
		entered, came := r.entered[person]
		if !came {
			continue
		}
		waited := entered - told[0].at
		report.Waited = max(report.Waited, waited)
		right := func(after float64) float64 {
			at := told[0].at + time.Duration(after*float64(waited))
			i, _ := slices.BinarySearchFunc(told, at, func(t said, at time.Duration) int { return cmp.Compare(t.at, at) })
			t := told[min(i, len(told)-1)]
			if near(t.wait, entered-t.at) {
				return 1
			}
			return 0
		}
		report.First += right(0)
		report.Half += right(0.5)
		people++
		times := 0.0
		for _, t := range told {
			if near(t.wait, entered-t.at) {
				times++
			}
		}
		report.All += times
		all += float64(len(told))
		if 2*times > float64(len(told)) {
			report.People++
		}
	}
	report.First, report.Half, report.All, report.People = report.First/people, report.Half/people, report.All/all, report.People/people
	return report
}
