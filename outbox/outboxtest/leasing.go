package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/outbox/driver"
)

func readAhead(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	w := steps.Get(newWriter(h))
	for range 10 {
		steps.Do(w.write(ctx, "a", "b", "c"))
	}
	l := steps.Get(h.Store.Lease(ctx, 0, "reader", time.Minute))
	var after driver.Mark
	seen := map[string]bool{}
	for {
		b := steps.Get(h.Store.Read(ctx, l, driver.Query{After: after, Limit: 7}))
		if len(b.Items) > 7 {
			return fmt.Errorf("Read returned %d items, want 7 at most", len(b.Items))
		}
		for _, it := range b.Items {
			if seen[it.MessageID] {
				return fmt.Errorf("reading ahead returned %s twice", it.MessageID)
			}
			seen[it.MessageID] = true
		}
		after = b.Next
		if len(b.Items) == 0 {
			break
		}
	}
	if len(seen) != len(w.all) {
		return fmt.Errorf("reading ahead returned %d events, want %d", len(seen), len(w.all))
	}
	steps.Do(h.Store.Release(ctx, l))
	// The batch was not settled, so another holder reads all of it. An item's mark is as good
	// as a batch's.
	l = steps.Get(h.Store.Lease(ctx, 0, "settler", time.Minute))
	b, err := h.Store.Read(ctx, l, driver.Query{Limit: 10})
	if err != nil || len(b.Items) != 10 {
		return fmt.Errorf("the next holder read %d events, %v; want 10", len(b.Items), err)
	}
	steps.Do(h.Store.Settle(ctx, l, driver.Settlement{Published: firstOf(b, 4), Move: b.Items[3].Mark, TTL: time.Minute}))
	steps.Do(h.Store.Release(ctx, l))
	l = steps.Get(h.Store.Lease(ctx, 0, "third", time.Minute))
	c := steps.Get(h.Store.Read(ctx, l, driver.Query{Limit: 100}))
	if len(c.Items) != len(w.all)-4 || c.Items[0].MessageID != b.Items[4].MessageID {
		return fmt.Errorf("after four events were settled the next holder read %d, want %d from the fifth on", len(c.Items), len(w.all)-4)
	}
	return errors.Join(h.Store.Release(ctx, l), w.close(ctx))
}

func firstOf(b driver.Batch, n int) (items []*driver.Item) {
	for i := range n {
		items = append(items, &b.Items[i])
	}
	return items
}

func leaseExcludes(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	a := steps.Get(h.Store.Lease(ctx, 0, "a", time.Minute))
	if _, err := h.Store.Lease(ctx, 0, "b", time.Minute); !errors.Is(err, driver.ErrLeaseHeld) {
		return fmt.Errorf("a second holder got %v, want ErrLeaseHeld", err)
	}
	again, err := h.Store.Lease(ctx, 0, "a", time.Minute)
	if err != nil {
		return fmt.Errorf("the holder could not take its lease again: %w", err)
	}
	if again.Token <= a.Token {
		return fmt.Errorf("the token went from %d to %d; it must grow", a.Token, again.Token)
	}
	steps.Do(h.Store.Release(ctx, again))
	b, err := h.Store.Lease(ctx, 0, "b", time.Minute)
	if err != nil {
		return fmt.Errorf("a released lease could not be taken: %w", err)
	}
	steps.Named(h.Store.Release(ctx, a), "releasing a lost lease")
	if _, err := h.Store.Lease(ctx, 0, "c", time.Minute); !errors.Is(err, driver.ErrLeaseHeld) {
		return fmt.Errorf("a former holder's release freed the lease of the present one: %v, want ErrLeaseHeld", err)
	}
	return h.Store.Release(ctx, b)
}

func fencing(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	w := steps.Get(newWriter(h))
	steps.Do(w.write(ctx, "a", "b", "c"))
	stalled := steps.Get(h.Store.Lease(ctx, 0, "stalled", 100*time.Millisecond))
	b, err := h.Store.Read(ctx, stalled, driver.Query{Limit: 10})
	if err != nil || len(b.Items) != 3 {
		return fmt.Errorf("read %d events, %v; want 3", len(b.Items), err)
	}
	var heir driver.Lease
	err = eventually(ctx, "the lease to run out", func() (bool, error) {
		heir, err = h.Store.Lease(ctx, 0, "heir", time.Minute)
		if errors.Is(err, driver.ErrLeaseHeld) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return err
	}
	late := driver.Settlement{
		Published: []*driver.Item{&b.Items[1]},
		Failures: []driver.Failure{
			{Item: &b.Items[0], State: driver.Parked, Attempts: 3, Error: "late"},
			{Item: &b.Items[2], State: driver.MovedAside, Attempts: 1, Error: "late"},
		},
		Move: b.Next, TTL: time.Minute,
	}
	for _, s := range []driver.Settlement{late, {Move: b.Next, TTL: time.Minute}, {TTL: time.Minute}} {
		if err := h.Store.Settle(ctx, stalled, s); !errors.Is(err, driver.ErrLeaseLost) {
			return fmt.Errorf("the stalled holder settled with %v, want ErrLeaseLost", err)
		}
	}
	steps.Do(h.Store.Release(ctx, heir))
	third := steps.Get(h.Store.Lease(ctx, 0, "third", time.Minute))
	if len(third.Aside) != 0 {
		return fmt.Errorf("the stalled holder moved %v aside after it had lost the lease", third.Aside)
	}
	c, err := h.Store.Read(ctx, third, driver.Query{Limit: 10})
	if err != nil || len(c.Items) != 3 {
		return fmt.Errorf("the stalled holder moved the cursor: %d events are left, %v; want 3", len(c.Items), err)
	}
	if p, ok := h.Store.(driver.Parking); ok {
		parked, err := p.Parked(ctx, 0, 10)
		if err != nil || len(parked) != 0 {
			return fmt.Errorf("the stalled holder parked %d events, %v; want none", len(parked), err)
		}
	}
	return errors.Join(h.Store.Release(ctx, third), w.close(ctx))
}

// shardsApart has two shards that are leased equally often, so that their tokens may be the same:
// what the holder of one does changes nothing of the other.
func shardsApart(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	w := steps.Get(newWriter(h))
	steps.Do(w.write(ctx, keys(16, "k")...))
	var own, other driver.Lease
	term := 50 * time.Millisecond
	for err = driver.ErrLeaseLost; errors.Is(err, driver.ErrLeaseLost); { // a slow store needs a longer term
		term *= 2
		own = steps.Get(h.Store.Lease(ctx, 0, "first", term))
		steps.Get(h.Store.Lease(ctx, 1, "brief", term))
		err = h.Store.Settle(ctx, own, driver.Settlement{TTL: time.Minute})
	}
	steps.Do(err)
	err = eventually(ctx, "the lease of the other shard to run out", func() (bool, error) {
		other, err = h.Store.Lease(ctx, 1, "second", time.Minute)
		if errors.Is(err, driver.ErrLeaseHeld) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return err
	}
	// The first term of the lease of shard 0 is over, too.
	if _, err := h.Store.Lease(ctx, 0, "rival", time.Minute); !errors.Is(err, driver.ErrLeaseHeld) {
		return fmt.Errorf("a settlement did not extend its lease: %v, want ErrLeaseHeld", err)
	}
	own = steps.Get(h.Store.Lease(ctx, 0, "first", time.Minute))
	all, err := h.Store.Read(ctx, other, driver.Query{Limit: 100})
	if err != nil || len(all.Items) == 0 {
		return fmt.Errorf("read %d events of shard 1, %v", len(all.Items), err)
	}
	aside := driver.Failure{Item: &all.Items[0], State: driver.MovedAside, Attempts: 1, Error: "aside"}
	steps.Do(h.Store.Settle(ctx, other, driver.Settlement{TTL: time.Minute, Failures: []driver.Failure{aside}, Move: all.Items[0].Mark}))
	if b, err := h.Store.Read(ctx, own, driver.Query{Keys: []string{all.Items[0].Key}, Limit: 100}); err != nil || len(b.Items) != 0 {
		return fmt.Errorf("reading aside under the lease of shard 0 returned %d events of shard 1, %v", len(b.Items), err)
	}
	b, err := h.Store.Read(ctx, own, driver.Query{Limit: 100})
	if err != nil || len(b.Items)+len(all.Items) != len(w.all) {
		return fmt.Errorf("read %d and %d events of the shards, %v; want %d", len(b.Items), len(all.Items), err, len(w.all))
	}
	steps.Do(h.Store.Settle(ctx, own, driver.Settlement{Published: firstOf(b, len(b.Items)), Move: b.Next, TTL: time.Minute}))
	steps.Do(h.Store.Release(ctx, own))
	if _, err := h.Store.Lease(ctx, 1, "third", time.Minute); !errors.Is(err, driver.ErrLeaseHeld) {
		return fmt.Errorf("with the lease of shard 0 the one of shard 1 was released: %v, want ErrLeaseHeld", err)
	}
	steps.Do(h.Store.Release(ctx, other))
	other = steps.Get(h.Store.Lease(ctx, 1, "third", time.Minute))
	if b, err = h.Store.Read(ctx, other, driver.Query{Limit: 100}); err != nil || len(b.Items) != len(all.Items)-1 {
		return fmt.Errorf("after shard 0 was settled shard 1 has %d events, %v; want %d", len(b.Items), err, len(all.Items)-1)
	}
	return errors.Join(h.Store.Release(ctx, other), w.close(ctx))
}
