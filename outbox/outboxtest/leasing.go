package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/outbox"
)

func readAhead(ctx context.Context, h Harness) error {
	w, err := newWriter(h)
	if err != nil {
		return err
	}
	for range 10 {
		if err := w.write(ctx, "a", "b", "c"); err != nil {
			return err
		}
	}
	l, err := h.Store.Lease(ctx, 0, "reader", time.Minute)
	if err != nil {
		return err
	}
	var after outbox.Mark
	seen := map[string]bool{}
	for {
		b, err := h.Store.Read(ctx, l, outbox.Query{After: after, Limit: 7})
		if err != nil {
			return err
		}
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
	if err := h.Store.Release(ctx, l); err != nil {
		return err
	}
	// Nothing was settled, so another holder reads it all, and an item's mark is
	// as good as a batch's.
	l, err = h.Store.Lease(ctx, 0, "settler", time.Minute)
	if err != nil {
		return err
	}
	b, err := h.Store.Read(ctx, l, outbox.Query{Limit: 10})
	if err != nil || len(b.Items) != 10 {
		return fmt.Errorf("the next holder read %d events, %v; want 10", len(b.Items), err)
	}
	if err := h.Store.Settle(ctx, l, outbox.Settlement{Move: b.Items[3].Mark, TTL: time.Minute}); err != nil {
		return err
	}
	if err := h.Store.Release(ctx, l); err != nil {
		return err
	}
	l, err = h.Store.Lease(ctx, 0, "third", time.Minute)
	if err != nil {
		return err
	}
	c, err := h.Store.Read(ctx, l, outbox.Query{Limit: 100})
	if err != nil {
		return err
	}
	if len(c.Items) != len(w.all)-4 || c.Items[0].MessageID != b.Items[4].MessageID {
		return fmt.Errorf("after four events were settled the next holder read %d, want %d from the fifth on", len(c.Items), len(w.all)-4)
	}
	return errors.Join(h.Store.Release(ctx, l), w.close(ctx))
}

func leaseExcludes(ctx context.Context, h Harness) error {
	a, err := h.Store.Lease(ctx, 0, "a", time.Minute)
	if err != nil {
		return err
	}
	if _, err := h.Store.Lease(ctx, 0, "b", time.Minute); !errors.Is(err, outbox.ErrLeaseHeld) {
		return fmt.Errorf("a second holder got %v, want ErrLeaseHeld", err)
	}
	again, err := h.Store.Lease(ctx, 0, "a", time.Minute)
	if err != nil {
		return fmt.Errorf("the holder could not take its lease again: %w", err)
	}
	if again.Token <= a.Token {
		return fmt.Errorf("the token went from %d to %d; it must grow", a.Token, again.Token)
	}
	if err := h.Store.Release(ctx, again); err != nil {
		return err
	}
	b, err := h.Store.Lease(ctx, 0, "b", time.Minute)
	if err != nil {
		return fmt.Errorf("a released lease could not be taken: %w", err)
	}
	if err := h.Store.Release(ctx, a); err != nil {
		return fmt.Errorf("releasing a lost lease: %w", err)
	}
	if err := h.Store.Settle(ctx, b, outbox.Settlement{TTL: time.Minute}); err != nil {
		return fmt.Errorf("a former holder's release took the lease of the present one: %w", err)
	}
	return h.Store.Release(ctx, b)
}

func fencing(ctx context.Context, h Harness) error {
	w, err := newWriter(h)
	if err != nil {
		return err
	}
	if err := w.write(ctx, "a", "b", "c"); err != nil {
		return err
	}
	stalled, err := h.Store.Lease(ctx, 0, "stalled", 100*time.Millisecond)
	if err != nil {
		return err
	}
	b, err := h.Store.Read(ctx, stalled, outbox.Query{Limit: 10})
	if err != nil || len(b.Items) != 3 {
		return fmt.Errorf("read %d events, %v; want 3", len(b.Items), err)
	}
	var heir outbox.Lease
	err = eventually(ctx, "the lease to run out", func() (bool, error) {
		heir, err = h.Store.Lease(ctx, 0, "heir", time.Minute)
		if errors.Is(err, outbox.ErrLeaseHeld) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return err
	}
	late := outbox.Settlement{
		Published: []*outbox.Item{&b.Items[1]},
		Failures: []outbox.Failure{
			{Item: &b.Items[0], State: outbox.Parked, Attempts: 3, Error: "late"},
			{Item: &b.Items[2], State: outbox.MovedAside, Attempts: 1, Error: "late"},
		},
		Move: b.Next, TTL: time.Minute,
	}
	for _, s := range []outbox.Settlement{late, {Move: b.Next, TTL: time.Minute}, {TTL: time.Minute}} {
		if err := h.Store.Settle(ctx, stalled, s); !errors.Is(err, outbox.ErrLeaseLost) {
			return fmt.Errorf("the stalled holder settled with %v, want ErrLeaseLost", err)
		}
	}
	if err := h.Store.Release(ctx, heir); err != nil {
		return err
	}
	third, err := h.Store.Lease(ctx, 0, "third", time.Minute)
	if err != nil {
		return err
	}
	if len(third.Aside) != 0 {
		return fmt.Errorf("the stalled holder moved %v aside after it had lost the lease", third.Aside)
	}
	c, err := h.Store.Read(ctx, third, outbox.Query{Limit: 10})
	if err != nil || len(c.Items) != 3 {
		return fmt.Errorf("the stalled holder moved the cursor: %d events are left, %v; want 3", len(c.Items), err)
	}
	if p, ok := h.Store.(outbox.Parking); ok {
		parked, err := p.Parked(ctx, 0, 10)
		if err != nil || len(parked) != 0 {
			return fmt.Errorf("the stalled holder parked %d events, %v; want none", len(parked), err)
		}
	}
	return errors.Join(h.Store.Release(ctx, third), w.close(ctx))
}

// settled writes four events, settles one of each kind of failure, twice, and
// returns the batch they came from.
func settled(ctx context.Context, h Harness, w *writer) (outbox.Batch, error) {
	if err := w.write(ctx, "parked", "aside", "aside", "held", "behind"); err != nil {
		return outbox.Batch{}, err
	}
	l, err := h.Store.Lease(ctx, 0, "first", time.Minute)
	if err != nil {
		return outbox.Batch{}, err
	}
	b, err := h.Store.Read(ctx, l, outbox.Query{Limit: 10})
	if err != nil || len(b.Items) != 5 {
		return outbox.Batch{}, fmt.Errorf("read %d events, %v; want 5", len(b.Items), err)
	}
	s := outbox.Settlement{
		Failures: []outbox.Failure{
			{Item: &b.Items[0], State: outbox.Parked, Attempts: 7, Age: time.Hour, Error: "parked it"},
			{Item: &b.Items[1], State: outbox.MovedAside, Attempts: 2, Age: time.Second, Wait: time.Hour, Error: "moved it"},
			{Item: &b.Items[2], State: outbox.MovedAside},
			{Item: &b.Items[3], State: outbox.Held, Attempts: 3, Age: time.Minute, Wait: 2 * time.Hour, Error: "held it \x00\xff"},
		},
		Move: b.Items[2].Mark, TTL: time.Minute,
	}
	for i := range s.Failures {
		s.Failures[i].Item.Attempts = s.Failures[i].Attempts
	}
	for range 2 {
		if err := h.Store.Settle(ctx, l, s); err != nil {
			return outbox.Batch{}, err
		}
	}
	return b, h.Store.Release(ctx, l)
}

func settleTwice(ctx context.Context, h Harness) error {
	w, err := newWriter(h)
	if err != nil {
		return err
	}
	if _, err := settled(ctx, h, w); err != nil {
		return err
	}
	l, err := h.Store.Lease(ctx, 0, "second", time.Minute)
	if err != nil {
		return err
	}
	if len(l.Aside) != 1 || l.Aside[0].Key != "aside" || l.Aside[0].Count != 2 {
		return fmt.Errorf("after settling twice %v stands aside, want two events of one key", l.Aside)
	}
	if p, ok := h.Store.(outbox.Parking); ok {
		parked, err := p.Parked(ctx, 0, 10)
		if err != nil || len(parked) != 1 || parked[0].Key != "parked" || parked[0].Attempts != 7 || parked[0].LastError != "parked it" {
			return fmt.Errorf("after settling twice the parked events are %+v, %v; want one", parked, err)
		}
	}
	return errors.Join(h.Store.Release(ctx, l), w.close(ctx))
}

func heldRemembered(ctx context.Context, h Harness) error {
	w, err := newWriter(h)
	if err != nil {
		return err
	}
	before, err := settled(ctx, h, w)
	if err != nil {
		return err
	}
	l, err := h.Store.Lease(ctx, 0, "second", time.Minute)
	if err != nil {
		return err
	}
	b, err := h.Store.Read(ctx, l, outbox.Query{Limit: 10})
	if err != nil || len(b.Items) != 2 {
		return fmt.Errorf("the next holder read %d events, %v; want the held one and the one behind", len(b.Items), err)
	}
	held := &b.Items[0]
	if held.MessageID != before.Items[3].MessageID || held.Attempts != 3 || held.Age != time.Minute ||
		held.Wait <= time.Hour || held.Wait > 2*time.Hour {
		return fmt.Errorf("the held event came back as %d attempts, age %v, wait %v; want 3, 1m, 2h", held.Attempts, held.Age, held.Wait)
	}
	if b.Items[1].Attempts != 0 {
		return errors.New("the event behind the held one has attempts")
	}
	// Once it is published nothing is left of it.
	err = h.Store.Settle(ctx, l, outbox.Settlement{Published: []*outbox.Item{held, &b.Items[1]}, Move: b.Next, TTL: time.Minute})
	if err != nil {
		return err
	}
	if i, ok := h.Store.(outbox.Inspector); ok {
		st, err := i.Stats(ctx)
		if err != nil {
			return err
		}
		if st[0].Failing != 1 || st[0].Backlog != 2 {
			return fmt.Errorf("after the held event got through %d fail and %d wait, want 1 and 2 (aside)", st[0].Failing, st[0].Backlog)
		}
	}
	return errors.Join(h.Store.Release(ctx, l), w.close(ctx))
}

func asideRemembered(ctx context.Context, h Harness) error {
	w, err := newWriter(h)
	if err != nil {
		return err
	}
	before, err := settled(ctx, h, w)
	if err != nil {
		return err
	}
	l, err := h.Store.Lease(ctx, 0, "second", time.Minute)
	if err != nil {
		return err
	}
	if len(l.Aside) != 1 || l.Aside[0].Wait <= 50*time.Minute || l.Aside[0].Wait > time.Hour {
		return fmt.Errorf("%+v stands aside, want one key that waits an hour", l.Aside)
	}
	if b, err := h.Store.Read(ctx, l, outbox.Query{Keys: []string{"held", "nobody"}, Limit: 10}); err != nil || len(b.Items) != 0 {
		return fmt.Errorf("reading other keys returned %d events, %v; want none", len(b.Items), err)
	}
	b, err := h.Store.Read(ctx, l, outbox.Query{Keys: []string{"nobody", "aside"}, Limit: 10})
	if err != nil || len(b.Items) != 2 {
		return fmt.Errorf("reading aside returned %d events, %v; want 2", len(b.Items), err)
	}
	first := b.Items[0]
	if first.MessageID != before.Items[1].MessageID || b.Items[1].MessageID != before.Items[2].MessageID {
		return errors.New("the events aside came back in another order")
	}
	if first.Mark != nil || first.Attempts != 2 || first.Age != time.Second || string(first.Payload) != string(before.Items[1].Payload) {
		return fmt.Errorf("the event aside came back as %+v", first)
	}
	// It fails again, and then gets through.
	first.Attempts = 3
	err = h.Store.Settle(ctx, l, outbox.Settlement{TTL: time.Minute, Failures: []outbox.Failure{
		{Item: &first, State: outbox.MovedAside, Attempts: 3, Age: 2 * time.Second, Error: "again"},
	}})
	if err != nil {
		return err
	}
	b, err = h.Store.Read(ctx, l, outbox.Query{Keys: []string{"aside"}, Limit: 1})
	if err != nil || len(b.Items) != 1 || b.Items[0].Attempts != 3 || b.Items[0].Age != 2*time.Second {
		return fmt.Errorf("after another failure the event aside is %+v, %v", b.Items, err)
	}
	if err := h.Store.Settle(ctx, l, outbox.Settlement{TTL: time.Minute, Published: []*outbox.Item{&b.Items[0]}}); err != nil {
		return err
	}
	b, err = h.Store.Read(ctx, l, outbox.Query{Keys: []string{"aside"}, Limit: 10})
	if err != nil || len(b.Items) != 1 || b.Items[0].MessageID != before.Items[2].MessageID {
		return fmt.Errorf("after the first got through %d events stand aside, %v; want the second", len(b.Items), err)
	}
	return errors.Join(h.Store.Release(ctx, l), w.close(ctx))
}
