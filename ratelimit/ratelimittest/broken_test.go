package ratelimittest_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/internal/budget"
	"github.com/millrace-go/millrace/ratelimit/ratelimittest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// copied returns a copy that does not share the rings' entries.
func copied(s *budget.State) *budget.State {
	c := *s
	c.Windows.Global.Times = slices.Clone(c.Windows.Global.Times)
	c.Windows.Low.Times = slices.Clone(c.Windows.Low.Times)
	return &c
}

// backend is a correct store with at most one defect, which replaces one of its parts.
type backend struct {
	mu       sync.Mutex
	state    *budget.State
	at       budget.Moment
	restarts int

	acquire  func(b *backend, p *driver.Plan, a driver.Ask) (driver.Grant, error)
	giveBack func(b *backend, p *driver.Plan, r driver.Returned)
	move     func(b *backend, d time.Duration)
	lose     func(b *backend)
	restart  func(b *backend)
	unlocked bool
	anything bool // takes any context and any ask
	peer     driver.Store
}

func (b *backend) Acquire(ctx context.Context, p *driver.Plan, a driver.Ask) (driver.Grant, error) {
	if !b.anything {
		if err := ctx.Err(); err != nil {
			return driver.Grant{}, err
		}
		if err := budget.Check(p, a); err != nil {
			return driver.Grant{}, err
		}
	}
	if !b.unlocked {
		b.mu.Lock()
		defer b.mu.Unlock()
	}
	if b.acquire != nil {
		return b.acquire(b, p, a)
	}
	return b.state.Acquire(p, a, b.at), nil
}

func (b *backend) Return(ctx context.Context, p *driver.Plan, r driver.Returned) error {
	if !b.anything {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := budget.CheckReturned(r); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.giveBack != nil {
		b.giveBack(b, p, r)
	} else {
		b.state.Return(p, r, b.at)
	}
	return nil
}

func (b *backend) harness() ratelimittest.Harness {
	b.state = &budget.State{}
	b.at = budget.Moment{Server: "0", Now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMicro()}
	return ratelimittest.Harness{
		Store: b, Peer: b.peer,
		Move: func(d time.Duration) {
			if b.move != nil {
				b.move(b, d)
			} else {
				b.at.Now += d.Microseconds()
			}
		},
		Lose: func(context.Context) error {
			if b.lose != nil {
				b.lose(b)
			} else {
				*b.state = budget.State{}
			}
			return nil
		},
		Restart: func(context.Context) error {
			if b.restart != nil {
				b.restart(b)
			} else {
				b.restarts++
				b.at.Server = strconv.Itoa(b.restarts)
			}
			return nil
		},
	}
}

// withPlan is a defect that uses other limits.
func withPlan(change func(p *driver.Plan)) *backend {
	return &backend{acquire: func(b *backend, p *driver.Plan, a driver.Ask) (driver.Grant, error) {
		other := *p
		change(&other)
		return b.state.Acquire(&other, a, b.at), nil
	}}
}

// withAsk is a defect that changes the ask.
func withAsk(change func(a *driver.Ask)) *backend {
	return &backend{acquire: func(b *backend, p *driver.Plan, a driver.Ask) (driver.Grant, error) {
		a.Runs = slices.Clone(a.Runs)
		change(&a)
		return b.state.Acquire(p, a, b.at), nil
	}}
}

// withGrant is a defect that changes the answer.
func withGrant(change func(b *backend, p *driver.Plan, a driver.Ask, g *driver.Grant)) *backend {
	return &backend{acquire: func(b *backend, p *driver.Plan, a driver.Ask) (driver.Grant, error) {
		g := b.state.Acquire(p, a, b.at)
		change(b, p, a, &g)
		return g, nil
	}}
}

// withReturn is a defect that changes a returned permit.
func withReturn(change func(b *backend, p *driver.Plan, r *driver.Returned)) *backend {
	return &backend{giveBack: func(b *backend, p *driver.Plan, r driver.Returned) {
		other := *p
		change(b, &other, &r)
		b.state.Return(&other, r, b.at)
	}}
}

func TestTheCorrectStorePasses(t *testing.T) {
	ratelimittest.Run(t, func(*testing.T) ratelimittest.Harness { return (&backend{}).harness() })
}

// slow takes longer for each answer than a limiter waits by default.
type slow struct{ driver.Store }

func (s slow) Acquire(ctx context.Context, p *driver.Plan, a driver.Ask) (driver.Grant, error) {
	select {
	case <-time.After(200 * time.Millisecond):
		return s.Store.Acquire(ctx, p, a)
	case <-ctx.Done():
		return driver.Grant{}, ctx.Err()
	}
}

// The one case that has a limiter, and so real time, passes a store that is slow.
func TestASlowStorePasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		suite, h := ratelimittest.Suite(), (&backend{}).harness()
		h.Store = slow{h.Store}
		i := slices.IndexFunc(suite.Cases, func(c conformance.Case[ratelimittest.Harness]) bool { return c.Name == "waits-outlive-lost-answers" })
		require.NoError(t, suite.Check(t.Context(), suite.Cases[i], h))
	})
}

func TestBrokenStoresAreCaught(t *testing.T) {
	var mutants []conformance.Mutant[ratelimittest.Harness]
	for _, d := range defects() {
		mutants = append(mutants, conformance.Mutant[ratelimittest.Harness]{
			Name: d.name, Cases: d.caught, Open: func(*testing.T) ratelimittest.Harness { return d.with().harness() },
		})
	}
	ratelimittest.Suite().Mutants(t, mutants)
}
