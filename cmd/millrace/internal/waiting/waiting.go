package waiting

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/queue"
	queuedriver "github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
	"github.com/millrace-go/millrace/queue/frontgate/redisgate"
	"github.com/millrace-go/millrace/queue/redisqueue"
)

// Rooms are the waiting rooms and front gates under one prefix of a Redis.
type Rooms struct {
	client redis.UniversalClient
	prefix string
	lines  queuedriver.Store
	gates  driver.Store
}

// Open makes the stores of a Redis or a Redis Cluster. It does not connect.
func Open(rawURL, prefix string) (*Rooms, error) {
	client, err := redisdb.Open(rawURL, redisdb.Config{PoolSize: atOnce})
	if err != nil {
		return nil, err
	}
	r := &Rooms{client: client, prefix: prefix}
	if r.lines, err = redisqueue.New(client, redisqueue.Config{Prefix: prefix}); err == nil {
		r.gates, err = redisgate.New(client, redisgate.Config{Prefix: prefix})
	}
	if err != nil {
		_ = client.Close() // it never connected
		return nil, err
	}
	return r, nil
}

// Close closes the connections.
func (r *Rooms) Close() error { return r.client.Close() }

// Event is the state of an event.
type Event struct {
	ID string
	queue.State
	// Set: an operator has set the threshold. Otherwise it is the application's own, which
	// the store does not know, and Threshold has no meaning.
	Set bool
	// Listed: a visitor waits or is active, or may be; an id that was never used is not listed.
	Listed bool
	Gate   driver.State // Epoch 0 if there is none
}

// unset is the threshold that this tool passes for the application: if the store returns
// it, no operator has set one either. No room is as large.
const unset = math.MaxInt32

// rules are the defaults of package queue except the threshold. The application's own rules
// matter to admissions and sweeps, and this tool makes none.
func rules() queuedriver.Rules {
	return queuedriver.Rules{
		Threshold: unset, Active: 10 * time.Minute, Seen: 10 * time.Minute, NoShow: 150 * time.Second,
		Tick: time.Second, Batch: 100, SweepEvery: 30 * time.Second, Settle: 70 * time.Second,
	}
}

// Events lists by name the events with a visitor that may wait or be active, or with a front gate.
func (r *Rooms) Events(ctx context.Context) ([]string, error) {
	events, err := r.lines.Events(ctx)
	if err != nil {
		return nil, err
	}
	gated, err := r.gates.Events(ctx)
	if err != nil {
		return nil, err
	}
	events = append(events, gated...)
	slices.Sort(events)
	return slices.Compact(events), nil
}

// Missing returns the first of the named events that does not exist, empty when all do, and
// the events in use. An event exists when it is in use, or an operator has set its
// threshold, or its room has not expired yet. Missing creates no room.
func (r *Rooms) Missing(ctx context.Context, named []string) (missing string, there []string, err error) {
	if len(named) == 0 {
		return "", nil, nil
	}
	if there, err = r.Events(ctx); err != nil {
		return "", nil, err
	}
	for _, id := range named {
		if slices.Contains(there, id) {
			continue
		}
		tag := r.prefix + "{" + id + "}:"
		n, err := r.client.Exists(ctx, tag+"room", tag+"threshold").Result()
		if err != nil {
			return "", nil, fmt.Errorf("look for the event %s: %w", id, err)
		}
		if n == 0 {
			return id, there, nil
		}
	}
	return "", there, nil
}

// atOnce is how many events are read at a time.
const atOnce = 8

// Look returns the state of events, in their order, or of all events when none is named.
// progress, if not nil, is called with the number of events read.
func (r *Rooms) Look(ctx context.Context, named []string, progress func(done, of int)) ([]Event, error) {
	listed, err := r.Events(ctx)
	if err != nil {
		return nil, err
	}
	ids := named
	if len(ids) == 0 {
		ids = listed
	}
	out := make([]Event, len(ids))
	var mu sync.Mutex
	done := 0
	reading, ctx := errgroup.WithContext(ctx)
	reading.SetLimit(atOnce)
	for i, id := range ids {
		reading.Go(func() (err error) {
			if out[i], err = r.look(ctx, id); err != nil {
				return err
			}
			out[i].Listed = slices.Contains(listed, id)
			mu.Lock()
			defer mu.Unlock()
			if done++; progress != nil {
				progress(done, len(ids))
			}
			return nil
		})
	}
	return out, reading.Wait()
}

func (r *Rooms) look(ctx context.Context, id string) (Event, error) {
	state, err := r.lines.Change(ctx, id, rules(), queuedriver.Change{})
	if err != nil {
		return Event{}, err
	}
	gate, err := r.gates.State(ctx, id)
	return Event{ID: id, State: state, Set: state.Threshold != unset, Gate: gate}, err
}

// SetThreshold sets how many may be active in an event, and returns its state before and after.
func (r *Rooms) SetThreshold(ctx context.Context, id string, n int) (before, after Event, err error) {
	if n < 0 || n >= unset {
		return before, after, fmt.Errorf("threshold is %d; give 0 to %d", n, unset-1)
	}
	looked, err := r.Look(ctx, []string{id}, nil)
	if err != nil {
		return before, after, err
	}
	before = looked[0]
	after = before
	after.State, err = r.lines.Change(ctx, id, rules(), queuedriver.Change{Threshold: &n})
	after.Set = true
	return before, after, err
}
