package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/sqltx"
)

// Harness is a store under test, with empty tables.
type Harness struct {
	Store driver.Store
	// InTx runs fn in a transaction that the store's Append accepts, and commits
	// it when fn returns nil. On a SQL database it is sqltx.Do.
	InTx func(ctx context.Context, fn func(ctx context.Context, tx sqltx.Execer) error) error
	// Reopen opens the same tables with another number of shards. A store without
	// a configured number leaves it nil.
	Reopen func(shards int) (driver.Store, error)
}

// Open opens a harness whose store has the given number of shards. Its resources are closed
// with t.
type Open func(t testing.TB, shards int) Harness

// Case is one property of a store, with the relay on it.
type Case struct {
	Name   string
	Shards int // the store's, 1 when zero
	// Run returns an error if the store breaks the property, or lacks the ability that it is about.
	Run func(ctx context.Context, h Harness) error
}

// Run runs every case, or those with the given names, each on a new store.
func Run(t *testing.T, open Open, names ...string) {
	cases := Cases()
	for _, name := range names {
		if !slices.ContainsFunc(cases, func(c Case) bool { return c.Name == name }) {
			t.Fatalf("outboxtest: there is no case %q", name)
		}
	}
	for _, c := range cases {
		if len(names) > 0 && !slices.Contains(names, c.Name) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			if err := c.Check(t, open); err != nil {
				t.Error(err)
			}
		})
	}
}

// Check runs the case on a new store. If the store lacks the ability that the case is about, Check
// logs n/a.
func (c Case) Check(t testing.TB, open Open) error {
	frame := conformance.Suite[Harness]{Limit: 30 * time.Second}
	err := frame.Check(t.Context(), conformance.Case[Harness]{Name: c.Name, Run: c.Run}, open(t, max(c.Shards, 1)))
	if errors.Is(err, errNotApplicable) {
		t.Log(err)
		return nil
	}
	return err
}

var errNotApplicable = errors.New("n/a")

// ability returns an optional ability of the store.
func ability[T any](h Harness) (T, error) {
	store, ok := h.Store.(T)
	if !ok {
		return store, fmt.Errorf("%w: the store is no %v", errNotApplicable, reflect.TypeFor[T]())
	}
	return store, nil
}

// Cases lists the suite.
func Cases() []Case {
	return []Case{
		{Name: "Atomic", Run: atomic},
		{Name: "Faithful", Run: faithful},
		{Name: "InvalidEventRefusesAll", Run: invalid},
		{Name: "OrderPerKey", Run: orderPerKey},
		{Name: "ManyShards", Shards: 4, Run: manyShards},
		{Name: "ManyInOneAppend", Run: manyInOne},
		{Name: "ShardsAreFixed", Shards: 2, Run: shardsFixed},
		{Name: "ReadAhead", Run: readAhead},
		{Name: "LeaseExcludes", Run: leaseExcludes},
		{Name: "Fencing", Run: fencing},
		{Name: "ShardsAreApart", Shards: 2, Run: shardsApart},
		{Name: "SettleTwice", Run: settleTwice},
		{Name: "CursorStays", Run: cursorStays},
		{Name: "HeldIsRemembered", Run: heldRemembered},
		{Name: "AsideIsRemembered", Run: asideRemembered},
		{Name: "AsideKeysAreApart", Run: asideApart},
		{Name: "CrashRepeatsOneBatch", Run: crash},
		{Name: "TwoRelays", Shards: 2, Run: twoRelays},
		{Name: "WakeOnCommit", Run: wakeOnCommit},
		{Name: "StrictWaits", Run: strictWaits},
		{Name: "ByKeyPasses", Run: byKeyPasses},
		{Name: "MaxAgeParksStrict", Run: parks(outbox.Strict)},
		{Name: "MaxAgeParksByKey", Run: parks(outbox.ByKey)},
		{Name: "UnreachableParksNothingStrict", Run: unreachable(outbox.Strict)},
		{Name: "UnreachableParksNothingByKey", Run: unreachable(outbox.ByKey)},
		{Name: "MaxRetriesParks", Run: maxRetries},
		{Name: "LonePoisonIsDeadLettered", Run: lonePoison},
		{Name: "UnreachableSpendsNoRetry", Run: awaySpendsNothing},
		{Name: "RefusedDeadLetterParks", Run: refusedDeadLetter},
		{Name: "RetryParked", Run: retryParked},
		{Name: "Prune", Run: prune},
		{Name: "PruneOfManyShards", Shards: 3, Run: pruneOfMany},
		{Name: "Stats", Run: stats},
		{Name: "Failing", Run: failing},
		{Name: "FailingOfManyShards", Shards: 3, Run: failingOfMany},
	}
}

// quiet discards the logs of the failures that the cases cause.
var quiet = slog.New(slog.DiscardHandler)

// quick is a relay configuration whose waits are short.
func quick() outbox.RelayConfig {
	b := outbox.Backoff{Initial: 5 * time.Millisecond, Max: 20 * time.Millisecond}
	return outbox.RelayConfig{Interval: 50 * time.Millisecond, Retry: b, Pause: b, Retention: -1, Logger: quiet}
}

// writer appends numbered events.
type writer struct {
	h   Harness
	box *outbox.Outbox

	mu  sync.Mutex
	seq map[string]int
	all []event.Event
}

func newWriter(h Harness) (*writer, error) {
	box, err := outbox.New(h.Store, outbox.Config{Topic: "events", Logger: quiet})
	if err != nil {
		return nil, err
	}
	return &writer{h: h, box: box, seq: map[string]int{}}, nil
}

// write commits one event for each key, in one transaction.
func (w *writer) write(ctx context.Context, keys ...string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	events := make([]event.Event, len(keys))
	for i, key := range keys {
		w.seq[key]++
		var err error
		if events[i], err = NewEvent(key, w.seq[key]); err != nil {
			return err
		}
	}
	err := w.h.InTx(ctx, func(ctx context.Context, tx sqltx.Execer) error { return w.box.Append(ctx, tx, events...) })
	if err == nil {
		w.all = append(w.all, events...)
	}
	return err
}

// close waits for the wake-ups, so that nothing outlives the case.
func (w *writer) close(ctx context.Context) error { return w.box.Close(ctx) }

// judge compares the published events with the committed ones.
func (w *writer) judge(got []Publication) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := map[string]bool{}
	for _, g := range got {
		seen[g.Event.ID] = true
	}
	for _, e := range w.all {
		if !seen[e.ID] {
			return fmt.Errorf("event %s of %q was committed and not published (%d of %d were)", e.ID, e.Key(), len(seen), len(w.all))
		}
	}
	if len(seen) > len(w.all) {
		return fmt.Errorf("%d events were published, %d committed", len(seen), len(w.all))
	}
	if n := Inversions(got); n > 0 {
		return fmt.Errorf("%d events were first published after a later one of their key", n)
	}
	return nil
}

// once is judge, and also fails if an event was published twice.
func (w *writer) once(got []Publication) error {
	if n := Duplicates(got); n > 0 {
		return fmt.Errorf("%d events were published twice without a crash", n)
	}
	return w.judge(got)
}

// drain publishes all waiting events.
func drain(ctx context.Context, h Harness, p *Publisher, cfg outbox.RelayConfig) error {
	r, err := outbox.NewRelay(h.Store, p, cfg)
	if err != nil {
		return err
	}
	return r.Drain(ctx)
}

// running starts a relay; the returned function stops it.
func running(ctx context.Context, store driver.Store, p *Publisher, cfg outbox.RelayConfig) (stop func() error, err error) {
	r, err := outbox.NewRelay(store, p, cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return sync.OnceValue(func() error {
		cancel()
		return <-done
	}), nil
}

// with runs fn beside a relay.
func with(ctx context.Context, h Harness, p *Publisher, cfg outbox.RelayConfig, fn func() error) error {
	stop, err := running(ctx, h.Store, p, cfg)
	if err != nil {
		return err
	}
	return errors.Join(fn(), stop())
}

// eventually polls a condition that no signal announces.
func eventually(ctx context.Context, what string, done func() (bool, error)) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := done()
		if err != nil || ok {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waited in vain for %s: %w", what, ctx.Err())
		}
	}
}

func keys(n int, prefix string) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("%s%d", prefix, i))
	}
	return out
}
