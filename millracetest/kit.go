package millracetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/driver"
	"github.com/millrace-go/millrace/event"
	idempotencydriver "github.com/millrace-go/millrace/idempotency/driver"
	outboxdriver "github.com/millrace-go/millrace/outbox/driver"
)

// Kit runs the handlers of an App step by step. Make it with New. Use it from one goroutine.
type Kit[Tx any] struct {
	t      testing.TB
	app    *millrace.App[Tx]
	stores *driver.Stores[Tx]
	keys   *keys

	shards  []*shard
	emitted []published
	groups  []*group
	letters []Failure
	crashes map[string]int
	now     time.Duration // the sum of all Advance calls
}

// New creates the tables of an App that was not run, and takes over its handlers. Registrations
// that Run would refuse fail the test.
func New[Tx any](t testing.TB, app *millrace.App[Tx]) *Kit[Tx] {
	t.Helper()
	if err := app.Migrate(t.Context()); err != nil {
		t.Fatalf("millracetest: make the tables: %v", err)
	}
	parts, err := app.Parts()
	if err != nil {
		t.Fatalf("millracetest: %v", err)
	}
	k := &Kit[Tx]{t: t, app: app, stores: parts.Stores, crashes: map[string]int{}}
	k.keys = &keys{[]idempotencydriver.Prunable{parts.Stores.Keys, parts.Stores.Leases}, parts.Config.Keys.Retention}
	for _, c := range parts.Consumers {
		k.groups = append(k.groups, newGroup(c))
	}
	n, err := k.stores.Outbox.Shards(t.Context())
	if err != nil {
		t.Fatalf("millracetest: %v", err)
	}
	for i := range n {
		k.shards = append(k.shards, &shard{number: i})
	}
	return k
}

// Emit commits events in their own transaction, as your code or another service would.
func (k *Kit[Tx]) Emit(events ...millrace.Event) {
	k.t.Helper()
	err := k.app.Do(k.t.Context(), func(ctx context.Context, tx Tx) error { return k.app.Emit(ctx, tx, events...) })
	if err != nil {
		k.t.Fatalf("millracetest: emit: %v", err)
	}
}

// mostRounds ends a Deliver whose handlers emit in a cycle. Each round delivers the events that
// the previous round emitted.
const mostRounds = 1000

// Deliver hands every committed event to each group that handles its topic, including the
// events that handlers emit, until no delivery is due. It returns the failed attempts. Events
// of one key are handled in order: they wait behind a failed event.
func (k *Kit[Tx]) Deliver() []Failure {
	k.t.Helper()
	var failures []Failure
	for again, rounds := true, 0; again; rounds++ {
		if rounds == mostRounds {
			k.t.Fatalf("millracetest: after %d rounds more events are due: do handlers emit what they handle?", rounds)
		}
		again = false
		k.relay()
		for _, g := range k.groups {
			for ready := g.ready(k.now); len(ready) > 0; ready = g.ready(k.now) {
				failures = append(failures, k.attempt(g, ready)...)
				again = true
			}
		}
	}
	return failures
}

// Redeliver hands every handled event to its groups once more, as any transport may, and
// delivers due events as Deliver does.
func (k *Kit[Tx]) Redeliver() []Failure {
	k.t.Helper()
	for _, g := range k.groups {
		again := g.handled
		g.handled = nil
		for _, m := range again {
			g.add(m)
		}
	}
	return k.Deliver()
}

// Advance moves the kit's clock: it delivers events that have become due, such as retries, and
// prunes idempotency keys that are older than their retention (Config.Keys.Retention, 30 days).
// The clocks of your own code and of the database do not change.
func (k *Kit[Tx]) Advance(d time.Duration) []Failure {
	k.t.Helper()
	k.now += d
	if err := k.keys.forget(k.t.Context(), k.now); err != nil {
		k.t.Fatalf("millracetest: forget old keys: %v", err)
	}
	return k.Deliver()
}

// CrashBeforeCommit makes the next n attempts of a group end as if the process had crashed
// after the handler returned: the transaction is not committed, and the event is delivered
// again. It works for handlers of Handle and HandleBatch; an attempt of HandleOutside, which has no
// transaction, fails the test.
func (k *Kit[Tx]) CrashBeforeCommit(group string, n int) {
	k.t.Helper()
	for _, g := range k.groups {
		if g.name == group {
			k.crashes[group] += n
			return
		}
	}
	k.t.Fatalf("millracetest: no handler is registered for group %q; there are %s", group, k.names())
}

// DeadLetters returns the last failures of the events that became dead letters, oldest first.
func (k *Kit[Tx]) DeadLetters() []Failure { return k.letters }

// published is a relayed event.
type published struct {
	topic   string
	event   event.Event
	message *message.Message
}

// relay moves committed events to the groups, as a relay and a transport do.
func (k *Kit[Tx]) relay() {
	k.t.Helper()
	for _, s := range k.shards {
		fresh, err := s.read(k.t.Context(), k.stores.Outbox)
		if err != nil {
			k.t.Fatalf("millracetest: read the outbox: %v", err)
		}
		for _, p := range fresh {
			k.emitted = append(k.emitted, p)
			for _, g := range k.groups {
				if g.topic == p.topic {
					g.add(p.message)
				}
			}
		}
	}
}

// errCrash ends the transaction of an attempt with a simulated crash.
var errCrash = errors.New("millracetest: the process died before the commit")

// attempt runs one attempt of a group and records its result.
func (k *Kit[Tx]) attempt(g *group, all []*delivery) []Failure {
	k.t.Helper()
	run := g.run
	crashing := k.crashes[g.name] > 0
	if crashing {
		k.crashes[g.name]--
		run = func(ctx context.Context, all []*delivery) error {
			return k.stores.Do(ctx, func(ctx context.Context, _ Tx) error {
				err := g.run(ctx, all)
				if errors.Is(err, idempotencydriver.ErrInTransaction) {
					return err // of HandleOutside: the handler did not run
				}
				return errors.Join(err, errCrash)
			})
		}
	}
	err := run(k.t.Context(), all)
	switch {
	case crashing && errors.Is(err, errCrash):
		return []Failure{{Group: g.name, Event: all[0].event(), Err: errCrash, Attempt: all[0].attempts + 1, Then: "it is delivered again"}}
	case crashing:
		k.t.Fatalf("millracetest: group %q did not work in the transaction that was to be cut: %v", g.name, err)
	}
	return k.settle(g, all, err)
}

func (k *Kit[Tx]) names() string {
	text := ""
	for i, g := range k.groups {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%q", g.name)
	}
	if text == "" {
		return "none"
	}
	return text
}

// keys holds the stores of idempotency keys, and their retention.
type keys struct {
	stores    []idempotencydriver.Prunable
	retention time.Duration
}

// forget prunes as if the given time had passed.
func (k *keys) forget(ctx context.Context, passed time.Duration) error {
	retention := k.retention
	if retention == 0 {
		retention = 30 * 24 * time.Hour
	}
	const atOnce = 1000
	for _, store := range k.stores {
		for n := atOnce; n == atOnce; {
			var err error
			if n, err = store.Prune(ctx, retention-passed, atOnce); err != nil {
				return err
			}
		}
	}
	return nil
}

// shard is a partition of the outbox and the position that was read last.
type shard struct {
	number int
	lease  outboxdriver.Lease
	taken  bool
	after  outboxdriver.Mark
}

// leaseTime is longer than any test.
const leaseTime = time.Hour

// read returns the events committed since the last read.
func (s *shard) read(ctx context.Context, store outboxdriver.Store) (all []published, err error) {
	if !s.taken {
		if s.lease, err = store.Lease(ctx, s.number, "millracetest", leaseTime); err != nil {
			return nil, err
		}
		s.taken = true
	}
	for {
		b, err := store.Read(ctx, s.lease, outboxdriver.Query{After: s.after, Limit: 1000})
		if err != nil || len(b.Items) == 0 {
			return all, err
		}
		settled := outboxdriver.Settlement{Move: b.Next, TTL: leaseTime}
		for i := range b.Items {
			p, err := decode(&b.Items[i])
			if err != nil {
				return nil, err
			}
			all = append(all, p)
			settled.Published = append(settled.Published, &b.Items[i])
		}
		if err := store.Settle(ctx, s.lease, settled); err != nil {
			return nil, err
		}
		s.after = b.Next
	}
}
