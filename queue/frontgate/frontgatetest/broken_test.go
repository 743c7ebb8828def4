package frontgatetest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
	"github.com/millrace-go/millrace/queue/frontgate/frontgatetest"
	"github.com/millrace-go/millrace/queue/frontgate/memgate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// backend is a correct store with at most one defect, which replaces one of its
// calls.
type backend struct {
	driver.Store
	clock *clock

	assign  func(ctx context.Context, event string, n int) (driver.State, error)
	state   func(ctx context.Context, event string) (driver.State, error)
	advance func(ctx context.Context, event string, by int64, every time.Duration) (driver.Round, error)
	keep    func(ctx context.Context, event string, epoch uint64, asks []driver.Ask) ([]int64, error)
	turn    func(ctx context.Context, event string, on bool) (driver.State, error)
	events  func(ctx context.Context) ([]string, error)
	lose    func() // beside the counters
	peer    driver.Store
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) get() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newBackend() *backend {
	b := &backend{clock: &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}}
	b.Store = empty(b.clock)
	return b
}

func empty(c *clock) driver.Store {
	s, err := memgate.New(memgate.Config{Now: c.get})
	if err != nil {
		panic(err)
	}
	return s
}

func (b *backend) Assign(ctx context.Context, event string, n int) (driver.State, error) {
	if b.assign != nil {
		return b.assign(ctx, event, n)
	}
	return b.Store.Assign(ctx, event, n)
}

func (b *backend) State(ctx context.Context, event string) (driver.State, error) {
	if b.state != nil {
		return b.state(ctx, event)
	}
	return b.Store.State(ctx, event)
}

func (b *backend) Advance(ctx context.Context, event string, by int64, every time.Duration) (driver.Round, error) {
	if b.advance != nil {
		return b.advance(ctx, event, by, every)
	}
	return b.Store.Advance(ctx, event, by, every)
}

func (b *backend) Keep(ctx context.Context, event string, epoch uint64, asks []driver.Ask) ([]int64, error) {
	if b.keep != nil {
		return b.keep(ctx, event, epoch, asks)
	}
	return b.Store.Keep(ctx, event, epoch, asks)
}

func (b *backend) Switch(ctx context.Context, event string, on bool) (driver.State, error) {
	if b.turn != nil {
		return b.turn(ctx, event, on)
	}
	return b.Store.Switch(ctx, event, on)
}

func (b *backend) Events(ctx context.Context) ([]string, error) {
	if b.events != nil {
		return b.events(ctx)
	}
	return b.Store.Events(ctx)
}

func (b *backend) harness() frontgatetest.Harness {
	h := frontgatetest.Harness{Store: b, Peer: b.peer, Move: b.clock.move, Expires: true}
	h.Lose = func(context.Context) error {
		b.Store = empty(b.clock)
		if b.lose != nil {
			b.lose()
		}
		return nil
	}
	return h
}

func TestTheCorrectStorePasses(t *testing.T) {
	frontgatetest.Run(t, func(*testing.T) frontgatetest.Harness { return newBackend().harness() })
}

func TestBrokenStoresAreCaught(t *testing.T) {
	var mutants []conformance.Mutant[frontgatetest.Harness]
	for _, d := range defects() {
		mutants = append(mutants, conformance.Mutant[frontgatetest.Harness]{
			Name: d.name, Cases: d.caught, Open: func(*testing.T) frontgatetest.Harness {
				b := newBackend()
				d.with(b)
				return b.harness()
			},
		})
	}
	frontgatetest.Suite().Mutants(t, mutants)
}

// A case whose needs the backend does not meet is reported by name.
func TestMissing(t *testing.T) {
	h := newBackend().harness()
	h.Expires = false
	require.Equal(t, []string{"members-for-a-day", "kept-after-off"}, frontgatetest.Suite().NotApplicable(h))
}
