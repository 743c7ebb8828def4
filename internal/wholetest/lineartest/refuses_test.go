package lineartest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/coalesce/memcoalesce"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ticket(p coalesce.Priority, version int64) coalesce.Ticket {
	return coalesce.Ticket{Key: "k", Priority: p, Version: version}
}

// op is an operation that takes the time from call to return.
func op(from, to int64, in call, out answer) porcupine.Operation {
	return porcupine.Operation{ClientId: int(from), Call: from, Return: to, Input: in, Output: out}
}

func request(from, to int64, p coalesce.Priority, o driver.Outcome, t coalesce.Ticket) porcupine.Operation {
	return op(from, to, call{what: "request", p: p}, answer{decision: coalesce.Decision{Outcome: o, Ticket: t}})
}

func again(from, to int64, p coalesce.Priority, t coalesce.Ticket) porcupine.Operation {
	return op(from, to, call{what: "request", p: p, again: true}, answer{decision: coalesce.Decision{Outcome: coalesce.AlreadyProcessing, Ticket: t}})
}

// Histories written by hand: some that the table allows, some that it refuses, and
// some that only an expiry between two operations explains.
func TestModelRefuses(t *testing.T) {
	low1, low2, high2, high3 := ticket(coalesce.Low, 1), ticket(coalesce.Low, 2), ticket(coalesce.High, 2), ticket(coalesce.High, 3)
	published, upgraded, processing := coalesce.Published, coalesce.Upgraded, coalesce.AlreadyProcessing
	release := func(from, to int64, t coalesce.Ticket, held bool) porcupine.Operation {
		return op(from, to, call{what: "release", ticket: t}, answer{held: held})
	}
	extend := func(from, to int64, t coalesce.Ticket, held bool) porcupine.Operation {
		return op(from, to, call{what: "extend", ticket: t}, answer{held: held})
	}
	done := func(from, to int64, t coalesce.Ticket, next ...coalesce.Ticket) porcupine.Operation {
		if len(next) == 0 {
			return op(from, to, call{what: "done", ticket: t}, answer{})
		}
		return op(from, to, call{what: "done", ticket: t}, answer{again: true, next: next[0]})
	}
	current := func(from, to, version int64) porcupine.Operation {
		return op(from, to, call{what: "current"}, answer{version: version})
	}
	first := request(1, 2, coalesce.Low, published, low1)
	for name, tc := range map[string]struct {
		strict, expiry bool // is it legal
		history        []porcupine.Operation
	}{
		"a run and its end": {true, true, []porcupine.Operation{current(0, 1, 0), first, release(3, 4, low1, true), release(5, 6, low1, false), current(7, 8, 1)}},
		"an upgrade": {true, true, []porcupine.Operation{first, request(3, 4, coalesce.High, upgraded, high2), done(5, 6, low1),
			request(7, 8, coalesce.High, processing, high2)}},
		"one more run": {true, true, []porcupine.Operation{first, again(3, 4, coalesce.Low, low1), again(5, 6, coalesce.Low, low1),
			done(7, 8, low1, low2), done(9, 10, low2)}},
		"one more run after an upgrade": {true, true, []porcupine.Operation{first, again(3, 4, coalesce.Low, low1),
			request(5, 6, coalesce.High, upgraded, high2), done(7, 8, high2, ticket(coalesce.Low, 3))}},
		"at the same moment any order will do": {true, true, []porcupine.Operation{
			request(1, 9, coalesce.Low, processing, low1), request(1, 9, coalesce.Low, published, low1), release(1, 9, low1, true)}},
		"published twice":                  {false, true, []porcupine.Operation{first, request(3, 4, coalesce.Low, published, low2)}},
		"published twice at once":          {false, true, []porcupine.Operation{request(1, 4, coalesce.Low, published, low1), request(2, 3, coalesce.Low, published, low2)}},
		"released although it had not":     {false, false, []porcupine.Operation{release(1, 2, low1, true)}},
		"released twice":                   {false, false, []porcupine.Operation{first, release(3, 8, low1, true), release(4, 7, low1, true)}},
		"not released although it had":     {false, true, []porcupine.Operation{first, release(3, 4, low1, false)}},
		"extended after its end":           {false, false, []porcupine.Operation{first, release(3, 4, low1, true), extend(5, 6, low1, true)}},
		"not extended although it had":     {false, true, []porcupine.Operation{first, extend(3, 4, low1, false)}},
		"the same version twice":           {false, false, []porcupine.Operation{first, release(3, 4, low1, true), request(5, 6, coalesce.Low, published, low1)}},
		"a version that regresses":         {false, false, []porcupine.Operation{request(1, 2, coalesce.High, published, high3), release(3, 4, high3, true), request(5, 6, coalesce.Low, published, low2)}},
		"an old current version":           {false, false, []porcupine.Operation{first, request(3, 4, coalesce.High, upgraded, high2), current(5, 6, 1)}},
		"high is told to wait for low":     {false, false, []porcupine.Operation{first, request(3, 4, coalesce.High, processing, low1)}},
		"low upgrades":                     {false, false, []porcupine.Operation{first, request(3, 4, coalesce.Low, upgraded, low2)}},
		"an upgrade of nothing":            {false, false, []porcupine.Operation{request(1, 2, coalesce.High, upgraded, high2)}},
		"somebody at it who was not":       {false, false, []porcupine.Operation{first, request(3, 4, coalesce.Low, processing, low2)}},
		"two more runs for one mark":       {false, false, []porcupine.Operation{first, again(3, 4, coalesce.Low, low1), done(5, 6, low1, low2), done(7, 8, low2, ticket(coalesce.Low, 3))}},
		"one more run that nobody wanted":  {false, false, []porcupine.Operation{first, done(3, 4, low1, low2)}},
		"one more run of a wrong priority": {false, false, []porcupine.Operation{first, again(3, 4, coalesce.Low, low1), done(5, 6, low1, high2)}},
		"one more run forgotten": {false, true, []porcupine.Operation{first, again(3, 4, coalesce.Low, low1), done(5, 6, low1),
			request(7, 8, coalesce.Low, published, low2)}},
		// The answered call had its step before the end of the run, and this
		// request began after that end.
		"an answer of a call that was under way": {false, false, []porcupine.Operation{first, request(3, 20, coalesce.Low, processing, low1),
			release(4, 5, low1, true), request(6, 19, coalesce.Low, processing, low1)}},
	} {
		assert.Equalf(t, tc.strict, linearizable(tc.history, false) == porcupine.Ok, "%s: legal while locks stand", name)
		assert.Equalf(t, tc.expiry, linearizable(tc.history, true) == porcupine.Ok, "%s: legal while locks expire", name)
	}
}

// broken is a store with a step that is not atomic: two callers look before
// either acts.
type broken struct {
	driver.Store
	step string
	mu   sync.Mutex
	n    int
	both chan struct{}
}

// meet returns when two callers have come.
func (s *broken) meet() {
	s.mu.Lock()
	if s.n++; s.n == 2 {
		close(s.both)
	}
	s.mu.Unlock()
	<-s.both
}

// Request looks whether the key is free and then takes it, whatever came between.
func (s *broken) Request(ctx context.Context, key string, p coalesce.Priority, again bool, ttl driver.TTLs) (coalesce.Decision, error) {
	if s.step != "request" {
		return s.Store.Request(ctx, key, p, again, ttl)
	}
	s.meet()
	s.mu.Lock()
	defer s.mu.Unlock()
	d, err := s.Store.Request(ctx, key, p, again, ttl)
	if err != nil || d.Mine() {
		return d, err
	}
	if _, err := s.Store.Release(ctx, d.Ticket); err != nil {
		return d, err
	}
	return s.Store.Request(ctx, key, p, again, ttl)
}

// Release looks whether the ticket has the lock and then deletes any lock of the
// key.
func (s *broken) Release(ctx context.Context, t coalesce.Ticket) (bool, error) {
	if s.step != "release" {
		return s.Store.Release(ctx, t)
	}
	s.meet()
	_, err := s.Store.Release(ctx, t)
	return true, err
}

// Two instances, staged so that the defect shows, against the same calls on a
// store without it.
func TestBrokenStoresAreCaught(t *testing.T) {
	for _, step := range []string{"none, the control", "request", "release"} {
		t.Run(step, func(t *testing.T) {
			s := &broken{Store: memcoalesce.New(), step: step, both: make(chan struct{})}
			all := coalescers(t, []driver.Store{s, s}, coalesce.Config{Timeout: time.Minute})
			var r recorder
			in := call{what: "request", p: coalesce.High}
			if step != "request" {
				first, err := r.do(t.Context(), 0, all[0], "k", in)
				require.NoError(t, err)
				in = call{what: "release", ticket: first.decision.Ticket}
			}
			var wg sync.WaitGroup
			for i, c := range all {
				wg.Go(func() {
					_, err := r.do(t.Context(), i+1, c, "k", in)
					assert.NoError(t, err)
				})
			}
			wg.Wait()
			if legal := linearizable(r.all, false) == porcupine.Ok; legal != (step == "none, the control") {
				t.Errorf("the checker calls it linearizable: %v\n%s", legal, describe(r.all))
			}
		})
	}
}
