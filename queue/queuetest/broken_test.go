package queuetest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/queuetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hooks are a defect of a store: each replaces one of its calls, and is given the correct store.
type hooks struct {
	visit  func(b *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error)
	look   func(b *backend, c call, epoch, version uint64) (driver.View, error)
	admit  func(b *backend, c call) (driver.Admission, error)
	sweep  func(b *backend, c call, from int64) (driver.Swept, error)
	change func(b *backend, c call, change driver.Change) (driver.State, error)
	events func(b *backend, c call) ([]string, error)
	lose   func(b *backend) error
	draw   func(step *driver.DrawStep)
}

// backend is a correct store with at most one defect.
type backend struct {
	hooks

	mu      sync.Mutex
	correct driver.MemoryStore
	now     time.Time
	notes   map[string]int64 // the memory of a defect
}

// call is the part that all calls have in common.
type call struct {
	ctx   context.Context
	store driver.MemoryStore
	event string
	r     driver.Rules
}

func (b *backend) call(ctx context.Context, event string, r driver.Rules) call {
	b.mu.Lock()
	defer b.mu.Unlock()
	return call{ctx, b.correct, event, r}
}

func (c call) visit(b driver.Beats, v ...driver.Visit) (driver.Visited, error) {
	return c.store.Visit(c.ctx, c.event, c.r, b, v)
}

func (c call) state() driver.State {
	got, err := c.visit(driver.Beats{})
	if err != nil {
		panic(err)
	}
	return got.State
}

func (c call) admit() (driver.Admission, error) { return c.store.Admit(c.ctx, c.event, c.r) }

func (c call) sweep(from int64) (driver.Swept, error) {
	return c.store.Sweep(c.ctx, c.event, c.r, from)
}

func (c call) change(change driver.Change) (driver.State, error) {
	return c.store.Change(c.ctx, c.event, c.r, change)
}

func (c call) look(epoch, version uint64) (driver.View, error) {
	return c.store.Look(c.ctx, c.event, c.r, epoch, version)
}

func (b *backend) Visit(ctx context.Context, event string, r driver.Rules, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
	c := b.call(ctx, event, r)
	if b.visit != nil {
		return b.visit(b, c, beats, visits)
	}
	return c.visit(beats, visits...)
}

func (b *backend) Look(ctx context.Context, event string, r driver.Rules, epoch, version uint64) (driver.View, error) {
	c := b.call(ctx, event, r)
	if b.look != nil {
		return b.look(b, c, epoch, version)
	}
	return c.look(epoch, version)
}

func (b *backend) Admit(ctx context.Context, event string, r driver.Rules) (driver.Admission, error) {
	c := b.call(ctx, event, r)
	if b.admit != nil {
		return b.admit(b, c)
	}
	return c.admit()
}

func (b *backend) Sweep(ctx context.Context, event string, r driver.Rules, from int64) (driver.Swept, error) {
	c := b.call(ctx, event, r)
	if b.sweep != nil {
		return b.sweep(b, c, from)
	}
	return c.sweep(from)
}

func (b *backend) Change(ctx context.Context, event string, r driver.Rules, change driver.Change) (driver.State, error) {
	c := b.call(ctx, event, r)
	if b.change != nil {
		return b.change(b, c, change)
	}
	return c.change(change)
}

func (b *backend) Events(ctx context.Context) ([]string, error) {
	c := b.call(ctx, "", driver.Rules{})
	if b.events != nil {
		return b.events(b, c)
	}
	return c.store.Events(ctx)
}

func (b *backend) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *backend) empty() error {
	s, err := memqueue.New(memqueue.Config{Now: b.clock})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.correct = s
	return err
}

func (b *backend) harness(t testing.TB) queuetest.Harness {
	t.Helper()
	b.now, b.notes = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), map[string]int64{}
	require.NoError(t, b.empty())
	return queuetest.Harness{
		Store: b,
		Advance: func(d time.Duration) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.now = b.now.Add(d)
		},
		Lose: func(context.Context) error {
			if b.lose != nil {
				return b.lose(b)
			}
			return b.empty()
		},
	}
}

func TestTheCorrectStorePasses(t *testing.T) {
	queuetest.Run(t, func(t *testing.T) queuetest.Harness { return (&backend{}).harness(t) })
}

// On a harness that offers nothing, the cases without needs remain.
func TestNeeds(t *testing.T) {
	s, left := queuetest.Suite(), 0
	for _, c := range s.Cases {
		h := (&backend{}).harness(t)
		h.Advance, h.Lose = nil, nil
		if s.Missing(c, h) != "" {
			continue
		}
		left++
		assert.NoErrorf(t, s.Check(t.Context(), c, h), "%s", c.Name)
	}
	if left < 25 || left >= len(s.Cases) {
		t.Errorf("%d of %d cases are left", left, len(s.Cases))
	}
}

func TestBrokenStoresAreCaught(t *testing.T) {
	var mutants []conformance.Mutant[queuetest.Harness]
	for _, d := range defects() {
		mutants = append(mutants, conformance.Mutant[queuetest.Harness]{
			Name: d.name, Cases: d.caught, Open: func(t *testing.T) queuetest.Harness {
				t.Helper()
				return (&backend{hooks: d.with}).harness(t)
			},
		})
	}
	queuetest.Suite().Mutants(t, mutants)
}
