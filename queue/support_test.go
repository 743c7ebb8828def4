package queue_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/token"
)

func ring(t testing.TB) *token.Ring {
	t.Helper()
	r, err := token.NewRing(strings.Repeat("s", 32))
	require.NoError(t, err)
	return r
}

func open(t testing.TB, store driver.Store, cfg queue.Config) *queue.Room {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	room, err := queue.New(store, ring(t), cfg)
	require.NoError(t, err)
	return room
}

// spy is a store that counts its calls and can be made to fail.
type spy struct {
	driver.Store
	mu      sync.Mutex
	calls   map[string]int
	beats   []driver.Beats
	visits  [][]driver.Visit
	servers int64 // more than the store says
	before  func(ctx context.Context, call, event string) error
}

func newSpy(t testing.TB) *spy {
	t.Helper()
	store, err := memqueue.New(memqueue.Config{})
	require.NoError(t, err)
	return &spy{Store: store, calls: map[string]int{}}
}

func (s *spy) called(ctx context.Context, call, event string) error {
	s.mu.Lock()
	s.calls[call]++
	before := s.before
	s.mu.Unlock()
	if before != nil {
		return before(ctx, call, event)
	}
	return nil
}

// current is the store, which a loss of its data replaces.
func (s *spy) current() driver.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Store
}

func (s *spy) fails(before func(ctx context.Context, call, event string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

// count is the number of calls of one kind since it was last asked for.
func (s *spy) count(call string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.calls[call]
	delete(s.calls, call)
	return n
}

// heard is the beats that the store got since they were last asked for.
func (s *spy) heard() (orders []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.beats {
		orders = append(orders, b.Orders...)
	}
	s.beats = nil
	return orders
}

// known is what the last visit said that its process knows, since it was last asked for.
func (s *spy) known() (last driver.Beats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.beats); n > 0 {
		last = s.beats[n-1]
	}
	s.beats = nil
	return last
}

func (s *spy) Visit(ctx context.Context, event string, r driver.Rules, b driver.Beats, v []driver.Visit) (driver.Visited, error) {
	if err := s.called(ctx, "visit", event); err != nil {
		return driver.Visited{}, err
	}
	s.mu.Lock()
	s.beats, s.visits = append(s.beats, b), append(s.visits, v)
	s.mu.Unlock()
	got, err := s.current().Visit(ctx, event, r, b, v)
	got.Servers += s.servers
	return got, err
}

func (s *spy) Look(ctx context.Context, event string, r driver.Rules, epoch, version uint64) (driver.View, error) {
	if err := s.called(ctx, "look", event); err != nil {
		return driver.View{}, err
	}
	return s.current().Look(ctx, event, r, epoch, version)
}

func (s *spy) Admit(ctx context.Context, event string, r driver.Rules) (driver.Admission, error) {
	if err := s.called(ctx, "admit", event); err != nil {
		return driver.Admission{}, err
	}
	return s.current().Admit(ctx, event, r)
}

func (s *spy) Sweep(ctx context.Context, event string, r driver.Rules, from int64) (driver.Swept, error) {
	if err := s.called(ctx, "sweep", event); err != nil {
		return driver.Swept{}, err
	}
	return s.current().Sweep(ctx, event, r, from)
}

func (s *spy) Change(ctx context.Context, event string, r driver.Rules, c driver.Change) (queue.State, error) {
	if err := s.called(ctx, "change", event); err != nil {
		return queue.State{}, err
	}
	return s.current().Change(ctx, event, r, c)
}

func (s *spy) Events(ctx context.Context) ([]string, error) {
	if err := s.called(ctx, "events", ""); err != nil {
		return nil, err
	}
	return s.current().Events(ctx)
}

// check checks a user in and fails the test on an error.
func check(t testing.TB, r *queue.Room, user, ticket string) queue.Place {
	t.Helper()
	place, err := r.Check(context.Background(), "show-1", queue.Visitor{User: user, Ticket: ticket})
	require.NoErrorf(t, err, "%s", user)
	return place
}

// fill admits one user, and lines the given users up; it returns their tickets.
func fill(t testing.TB, r *queue.Room, users ...string) (tickets map[string]string) {
	t.Helper()
	_, err := r.SetThreshold(context.Background(), "show-1", 1)
	require.NoError(t, err)
	require.Equal(t, queue.Active, check(t, r, "inside", "").Status, "the first")
	tickets = make(map[string]string)
	for i, user := range users {
		place := check(t, r, user, "")
		if place.Status != queue.Waiting || place.Ahead != i {
			t.Fatalf("%s is %v with %d ahead", user, place.Status, place.Ahead)
		}
		tickets[user] = place.Ticket
	}
	return tickets
}
