package lineartest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/driver"
)

const (
	instances = 10
	steps     = 12
	histories = 3
)

// check runs random histories of ten instances on one key each, once with lasting
// locks and once with locks that expire all the time. open returns ten stores as
// ten processes would have them, over one state.
func check(t *testing.T, open func(t testing.TB, n int) []driver.Store) {
	t.Helper()
	for _, mode := range []struct {
		name      string
		expiry    bool
		clients   int // of each instance; two share calls
		high, low time.Duration
	}{
		{"standing locks", false, 2, time.Hour, time.Hour},
		{"expiring locks", true, 1, 2 * time.Millisecond, 4 * time.Millisecond},
	} {
		t.Run(mode.name, func(t *testing.T) {
			all := coalescers(t, open(t, instances), coalesce.Config{
				HighTTL: mode.high, LowTTL: mode.low, VersionTTL: 2 * time.Hour,
				Timeout: time.Minute, // a busy machine is no fault of the store
			})
			for seed := range uint64(histories) {
				operations, err := record(t.Context(), all, mode.clients, fmt.Sprintf("history-%d", seed), seed)
				require.NoError(t, err)
				switch linearizable(operations, mode.expiry) {
				case porcupine.Ok:
					t.Logf("history %d: %s", seed, tally(operations))
				case porcupine.Illegal:
					t.Errorf("history %d is not linearizable:\n%s", seed, describe(operations))
				default:
					t.Errorf("history %d: no order was found that explains it:\n%s", seed, describe(operations))
				}
			}
		})
	}
}

func coalescers(t testing.TB, stores []driver.Store, cfg coalesce.Config) []*coalesce.Coalescer {
	t.Helper()
	var all []*coalesce.Coalescer
	for _, s := range stores {
		c, err := coalesce.New(s, cfg)
		require.NoError(t, err)
		all = append(all, c)
	}
	return all
}

// recorder records operations with a clock that only counts.
type recorder struct {
	clock atomic.Int64
	mu    sync.Mutex
	all   []porcupine.Operation
}

func (r *recorder) do(ctx context.Context, client int, c *coalesce.Coalescer, key string, in call) (answer, error) {
	begun := r.clock.Add(1)
	out, err := perform(ctx, c, key, in)
	ended := r.clock.Add(1)
	if err != nil {
		return out, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, porcupine.Operation{ClientId: client, Input: in, Call: begun, Output: out, Return: ended})
	return out, nil
}

func perform(ctx context.Context, c *coalesce.Coalescer, key string, in call) (a answer, err error) {
	t := in.ticket
	switch in.what {
	case "request":
		request := c.Request
		if in.again {
			request = c.Again
		}
		a.decision, err = request(ctx, key, in.p)
	case "release":
		a.held, err = c.Release(ctx, key, t.Priority, t.Version)
	case "extend":
		a.held, err = c.Extend(ctx, key, t.Priority, t.Version)
	case "done":
		a.next, a.again, err = c.Done(ctx, key, t.Priority, t.Version)
	case "current":
		var newest uint64
		newest, err = c.Sequence(ctx, key)
		a.version = int64(newest)
	}
	return a, err
}

// record lets all clients work on one key at once.
func record(ctx context.Context, all []*coalesce.Coalescer, clients int, key string, seed uint64) ([]porcupine.Operation, error) {
	var r recorder
	var tickets pool
	errs := make([]error, len(all)*clients)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			choose := rand.New(rand.NewPCG(seed, uint64(i)))
			<-start
			for range steps {
				in := draw(choose, &tickets)
				out, err := r.do(ctx, i, all[i%len(all)], key, in)
				if err != nil {
					errs[i] = fmt.Errorf("%+v: %w", in, err)
					return
				}
				tickets.add(out.decision.Ticket)
				tickets.add(out.next)
			}
		})
	}
	close(start)
	wg.Wait()
	return r.all, errors.Join(errs...)
}

// draw chooses the next call. Ends go to recent tickets, stale ones among them.
func draw(choose *rand.Rand, tickets *pool) call {
	t := tickets.pick(choose)
	p := coalesce.Low
	if choose.IntN(3) == 0 {
		p = coalesce.High
	}
	n := choose.IntN(12)
	switch {
	case t.Version == 0 || n < 5:
		return call{what: "request", p: p, again: choose.IntN(3) == 0}
	case n < 7:
		return call{what: "release", ticket: t}
	case n < 9:
		return call{what: "done", ticket: t}
	case n < 10:
		return call{what: "extend", ticket: t}
	}
	return call{what: "current"}
}

// pool is the tickets that any client has seen.
type pool struct {
	mu  sync.Mutex
	all []coalesce.Ticket
}

func (p *pool) add(t coalesce.Ticket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.all); t.Version > 0 && (n == 0 || p.all[n-1] != t) {
		p.all = append(p.all, t)
	}
}

// pick chooses one of the newest few; none when there is none.
func (p *pool) pick(choose *rand.Rand) coalesce.Ticket {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all) == 0 {
		return coalesce.Ticket{}
	}
	return p.all[len(p.all)-1-choose.IntN(min(3, len(p.all)))]
}

func tally(operations []porcupine.Operation) string {
	n := map[string]int{}
	for _, o := range operations {
		in, out := o.Input.(call), o.Output.(answer)
		switch {
		case in.what == "request":
			n[out.decision.Outcome.String()]++
		case out.again:
			n["run again"]++
		case out.held:
			n[in.what]++
		case in.what == "release" || in.what == "extend":
			n["too late to "+in.what]++
		default:
			n[in.what]++
		}
	}
	return fmt.Sprint(n)
}

func describe(operations []porcupine.Operation) string {
	text := ""
	for _, o := range operations {
		text += fmt.Sprintf("client %d, %d to %d: %+v → %+v\n", o.ClientId, o.Call, o.Return, o.Input, o.Output)
	}
	return text
}
