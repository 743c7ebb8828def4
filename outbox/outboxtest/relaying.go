package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
)

// dying is the store of a process that is killed between publishing and settling: only renewals
// of its lease arrive.
type dying struct{ driver.Store }

var errKilled = errors.New("outboxtest: killed")

func (d dying) Settle(ctx context.Context, l driver.Lease, s driver.Settlement) error {
	if len(s.Published)+len(s.Failures) == 0 && s.Move == nil {
		return d.Store.Settle(ctx, l, s) // a slow relay keeps its lease until it has published
	}
	return errKilled
}

func (dying) Release(context.Context, driver.Lease) error { return errKilled }

func crash(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	w := steps.Get(newWriter(h))
	for range 20 {
		steps.Do(w.write(ctx, keys(10, "k")...))
	}
	cfg := quick()
	cfg.MinBatch, cfg.MaxBatch = 20, 50
	cfg.LeaseTTL, cfg.ShutdownTimeout = 300*time.Millisecond, time.Millisecond
	p := &Publisher{}
	// Two relays are killed one after the other, the third stays.
	for i := range 2 {
		before := len(p.Published())
		stop := steps.Get(running(ctx, dying{h.Store}, p, cfg))
		err = p.WaitFor(ctx, before+1)
		if e := stop(); !errors.Is(e, errKilled) && err == nil {
			err = fmt.Errorf("the dying relay %d returned %v", i, e)
		}
		if err != nil {
			return err
		}
		if n := len(p.Published()) - before; n > 50 {
			return fmt.Errorf("a relay published %d events before it settled any, want a batch of 50 at most", n)
		}
	}
	steps.Do(drain(ctx, h, p, cfg))
	if n := Duplicates(p.Published()); n == 0 || n > 2*50 {
		return fmt.Errorf("two crashes repeated %d events, want 1 to 100", n)
	}
	return errors.Join(w.judge(p.Published()), w.close(ctx))
}

func twoRelays(ctx context.Context, h Harness) error {
	w, err := newWriter(h)
	if err != nil {
		return err
	}
	p := &Publisher{}
	cfg := quick()
	err = with(ctx, h, p, cfg, func() error {
		return with(ctx, h, p, cfg, func() error {
			for i := range 20 {
				if err := w.write(ctx, keys(5+i%3, "k")...); err != nil {
					return err
				}
			}
			return p.WaitFor(ctx, len(w.all))
		})
	})
	return errors.Join(err, w.once(p.Published()), w.close(ctx))
}

// watched signals when a relay has found no events to read.
type watched struct {
	driver.Store
	driver.Signal
	idle chan struct{} // cap 1
}

func (w watched) Read(ctx context.Context, l driver.Lease, q driver.Query) (driver.Batch, error) {
	b, err := w.Store.Read(ctx, l, q)
	if err == nil && len(b.Items) == 0 {
		select {
		case w.idle <- struct{}{}:
		default:
		}
	}
	return b, err
}

func wakeOnCommit(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	signal := steps.Get(ability[driver.Signal](h))
	w := steps.Get(newWriter(h))
	p := &Publisher{}
	cfg := quick()
	cfg.Interval = time.Hour
	store := watched{h.Store, signal, make(chan struct{}, 1)}
	h.Store = store
	err = with(ctx, h, p, cfg, func() error {
		for i := range 5 {
			select {
			case <-store.idle:
			case <-ctx.Done():
				return fmt.Errorf("the relay did not become idle: %w", ctx.Err())
			}
			if err := w.write(ctx, "a"); err != nil {
				return err
			}
			if err := p.WaitFor(ctx, i+1); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, w.once(p.Published()), w.close(ctx))
}

// single publishes one message per call: after a failed call with many messages, it is unknown
// which were published, so some would be published twice.
func single() outbox.RelayConfig {
	cfg := quick()
	cfg.Chunk = 1
	return cfg
}

// poison is a publisher that refuses some keys.
type poison struct {
	Publisher
	mu     sync.Mutex
	refuse map[string]error
	tries  int
}

func newPoison(refuse map[string]error) *poison {
	p := &poison{refuse: refuse}
	p.Fail = func(_ string, e event.Event) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		err := p.refuse[e.Key()]
		if err == nil {
			err = p.refuse["*"]
		}
		if err != nil {
			p.tries++
		}
		return err
	}
	return p
}

func (p *poison) cure() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = nil
}

func (p *poison) tried() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tries
}

func published(p *Publisher, key string) (n int) {
	for _, g := range p.Published() {
		if g.Event.Key() == key {
			n++
		}
	}
	return n
}

func strictWaits(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	w := steps.Get(newWriter(h))
	steps.Do(w.write(ctx, "bad", "good", "bad", "good"))
	p := newPoison(map[string]error{"bad": errors.New("refused")})
	cfg := single()
	cfg.MaxAge, cfg.MaxRetries = -1, -1
	err = with(ctx, h, &p.Publisher, cfg, func() error {
		if err := eventually(ctx, "retries", func() (bool, error) { return p.tried() >= 3, nil }); err != nil {
			return err
		}
		if n := published(&p.Publisher, "bad"); n != 0 {
			return fmt.Errorf("%d events passed a failing one of their key", n)
		}
		p.cure()
		if err := w.write(ctx, "bad", "good"); err != nil {
			return err
		}
		return p.WaitFor(ctx, len(w.all))
	})
	return errors.Join(err, w.once(p.Published()), w.close(ctx))
}

func byKeyPasses(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	w := steps.Get(newWriter(h))
	p := newPoison(map[string]error{"bad": errors.New("refused")})
	cfg := single()
	cfg.Ordering, cfg.MaxAge, cfg.MaxRetries = outbox.ByKey, -1, -1
	good := 0
	step := func() error { // one more event of each, and the good ones pass
		steps.Do(w.write(ctx, "good", "bad", "good", "bad", "fine"))
		good += 3
		return p.WaitFor(ctx, good)
	}
	// The second relay continues where the first one stopped.
	for range 2 {
		if err := with(ctx, h, &p.Publisher, cfg, func() error { return errors.Join(step(), step()) }); err != nil {
			return err
		}
	}
	if n := published(&p.Publisher, "bad"); n != 0 {
		return fmt.Errorf("%d refused events were published", n)
	}
	l := steps.Get(h.Store.Lease(ctx, 0, "looking", time.Minute))
	if len(l.Aside) != 1 || l.Aside[0].Key != "bad" || l.Aside[0].Count == 0 {
		return fmt.Errorf("%v stands aside, want the refused key", l.Aside)
	}
	steps.Do(h.Store.Release(ctx, l))
	err = with(ctx, h, &p.Publisher, cfg, func() error {
		p.cure()
		return p.WaitFor(ctx, len(w.all))
	})
	return errors.Join(err, w.once(p.Published()), w.close(ctx))
}

func parks(o outbox.Ordering) func(context.Context, Harness) error {
	return func(ctx context.Context, h Harness) (err error) {
		defer steps.End(&err)
		w := steps.Get(newWriter(h))
		steps.Do(w.write(ctx, "bad", "good", "bad"))
		p := newPoison(nil)
		first := w.all[0].ID
		p.Fail = func(_ string, e event.Event) error {
			if e.ID == first {
				return errors.New("refused for ever")
			}
			return nil
		}
		cfg := single()
		cfg.Ordering, cfg.MaxAge = o, 100*time.Millisecond
		parked := make(chan string, 10)
		cfg.Hooks.Parked = func(_ int, _, id string, _ error) { parked <- id }
		err = with(ctx, h, &p.Publisher, cfg, func() error {
			for {
				if err := w.write(ctx, "good"); err != nil { // another event is published
					return err
				}
				select {
				case id := <-parked:
					if id != first {
						return fmt.Errorf("parked %s, want the first event", id)
					}
					return p.WaitFor(ctx, len(w.all)-1)
				case <-time.After(10 * time.Millisecond):
				case <-ctx.Done():
					return fmt.Errorf("the failing event was not parked: %w", ctx.Err())
				}
			}
		})
		if err != nil {
			return err
		}
		if n := published(&p.Publisher, "bad"); n != 1 {
			return fmt.Errorf("%d events of the failing one's key were published, want the one behind it", n)
		}
		if store, ok := h.Store.(driver.Parking); ok {
			list := steps.Get(store.Parked(ctx, 0, 10))
			if len(list) != 1 || list[0].MessageID != first || list[0].Attempts < 2 || list[0].LastError != "refused for ever" {
				return fmt.Errorf("the parked events are %+v, want the first with its error and attempts", list)
			}
		}
		w.all = slices.DeleteFunc(w.all, func(e event.Event) bool { return e.ID == first })
		return errors.Join(w.once(p.Published()), w.close(ctx))
	}
}

// unreachable refuses all messages for many times the MaxAge: first with classified errors,
// then with unclassified ones.
func unreachable(o outbox.Ordering) func(context.Context, Harness) error {
	return func(ctx context.Context, h Harness) (err error) {
		defer steps.End(&err)
		w := steps.Get(newWriter(h))
		for range 5 {
			steps.Do(w.write(ctx, keys(5, "k")...))
		}
		p := newPoison(nil)
		cfg := single()
		cfg.Ordering, cfg.MaxAge = o, 10*time.Millisecond
		cfg.Hooks.Parked = func(_ int, _, id string, _ error) { err = fmt.Errorf("parked %s although nothing got through", id) }
		for _, away := range []error{fault.MarkInfrastructure(errors.New("away")), errors.New("away")} {
			p.mu.Lock()
			p.refuse, p.tries = map[string]error{"*": away}, 0
			p.mu.Unlock()
			failed := with(ctx, h, &p.Publisher, cfg, func() error {
				return eventually(ctx, "attempts", func() (bool, error) { return p.tried() >= 20, nil })
			})
			if failed != nil || err != nil {
				return errors.Join(failed, err)
			}
		}
		if n := len(p.Published()); n != 0 {
			return fmt.Errorf("%d events were published through a publisher that was away", n)
		}
		p.cure()
		steps.Do(drain(ctx, h, &p.Publisher, cfg))
		return errors.Join(err, w.once(p.Published()), w.close(ctx))
	}
}
