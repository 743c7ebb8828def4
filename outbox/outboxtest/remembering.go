package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/outbox/driver"
)

// settled writes four events, settles one of each kind of failure, twice, and returns their
// batch.
func settled(ctx context.Context, h Harness, w *writer) (driver.Batch, error) {
	if err := w.write(ctx, "parked", "aside", "aside", "held", "behind"); err != nil {
		return driver.Batch{}, err
	}
	l, err := h.Store.Lease(ctx, 0, "first", time.Minute)
	if err != nil {
		return driver.Batch{}, err
	}
	b, err := h.Store.Read(ctx, l, driver.Query{Limit: 10})
	if err != nil || len(b.Items) != 5 {
		return driver.Batch{}, fmt.Errorf("read %d events, %v; want 5", len(b.Items), err)
	}
	s := driver.Settlement{
		Failures: []driver.Failure{
			{Item: &b.Items[0], State: driver.Parked, Attempts: 7, Age: time.Hour, Error: "parked it"},
			{Item: &b.Items[1], State: driver.MovedAside, Attempts: 2, Age: time.Second, Wait: time.Hour, Error: "moved it"},
			{Item: &b.Items[2], State: driver.MovedAside},
			{Item: &b.Items[3], State: driver.Held, Attempts: 3, Age: time.Minute, Wait: 2 * time.Hour, Error: "held it \x00\xff"},
		},
		Move: b.Items[2].Mark, TTL: time.Minute,
	}
	for i := range s.Failures {
		s.Failures[i].Item.Attempts = s.Failures[i].Attempts
	}
	for range 2 {
		if err := h.Store.Settle(ctx, l, s); err != nil {
			return driver.Batch{}, err
		}
	}
	return b, h.Store.Release(ctx, l)
}

func settleTwice(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	w := steps.Get(newWriter(h))
	steps.Get(settled(ctx, h, w))
	l := steps.Get(h.Store.Lease(ctx, 0, "second", time.Minute))
	if len(l.Aside) != 1 || l.Aside[0].Key != "aside" || l.Aside[0].Count != 2 {
		return fmt.Errorf("after settling twice %v stands aside, want two events of one key", l.Aside)
	}
	if p, ok := h.Store.(driver.Parking); ok {
		parked, err := p.Parked(ctx, 0, 10)
		if err != nil || len(parked) != 1 || parked[0].Key != "parked" || parked[0].Attempts != 7 || parked[0].LastError != "parked it" {
			return fmt.Errorf("after settling twice the parked events are %+v, %v; want one", parked, err)
		}
	}
	return errors.Join(h.Store.Release(ctx, l), w.close(ctx))
}

// cursorStays settles failures after a move: they must not move the cursor back.
func cursorStays(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	w := steps.Get(newWriter(h))
	steps.Do(w.write(ctx, "a", "b", "c", "d"))
	l := steps.Get(h.Store.Lease(ctx, 0, "first", time.Minute))
	b, err := h.Store.Read(ctx, l, driver.Query{Limit: 10})
	if err != nil || len(b.Items) != 4 {
		return fmt.Errorf("read %d events, %v; want 4", len(b.Items), err)
	}
	held := driver.Failure{Item: &b.Items[2], State: driver.Held, Attempts: 1, Error: "x"}
	for _, s := range []driver.Settlement{
		{Published: []*driver.Item{&b.Items[0], &b.Items[1]}, Move: b.Items[1].Mark, TTL: time.Minute},
		{TTL: time.Minute},
		{Failures: []driver.Failure{held}, TTL: time.Minute},
	} {
		steps.Do(h.Store.Settle(ctx, l, s))
	}
	steps.Do(h.Store.Release(ctx, l))
	l = steps.Get(h.Store.Lease(ctx, 0, "second", time.Minute))
	c, err := h.Store.Read(ctx, l, driver.Query{Limit: 10})
	if err != nil || len(c.Items) != 2 || c.Items[0].ID != b.Items[2].ID {
		return fmt.Errorf("the next holder read %d events, %v; want the two behind the cursor", len(c.Items), err)
	}
	return errors.Join(h.Store.Release(ctx, l), w.close(ctx))
}

func heldRemembered(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	w := steps.Get(newWriter(h))
	before := steps.Get(settled(ctx, h, w))
	l := steps.Get(h.Store.Lease(ctx, 0, "second", time.Minute))
	b, err := h.Store.Read(ctx, l, driver.Query{Limit: 10})
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
	// After the event is published, none of its state is left.
	steps.Do(h.Store.Settle(ctx, l, driver.Settlement{Published: []*driver.Item{held, &b.Items[1]}, Move: b.Next, TTL: time.Minute}))
	if i, ok := h.Store.(driver.Inspector); ok {
		st := steps.Get(i.Stats(ctx))
		if st[0].Failing != 1 || st[0].Backlog != 2 {
			return fmt.Errorf("after the held event got through %d fail and %d wait, want 1 and 2 (aside)", st[0].Failing, st[0].Backlog)
		}
	}
	return errors.Join(h.Store.Release(ctx, l), w.close(ctx))
}

func asideRemembered(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	w := steps.Get(newWriter(h))
	before := steps.Get(settled(ctx, h, w))
	if p, ok := h.Store.(driver.Pruner); ok { // what is aside is not finished
		steps.Get(p.Prune(ctx, 0, time.Now().Add(time.Hour), 100))
	}
	l := steps.Get(h.Store.Lease(ctx, 0, "second", time.Minute))
	if len(l.Aside) != 1 || l.Aside[0].Wait <= 50*time.Minute || l.Aside[0].Wait > time.Hour {
		return fmt.Errorf("%+v stands aside, want one key that waits an hour", l.Aside)
	}
	if b, err := h.Store.Read(ctx, l, driver.Query{Keys: []string{"held", "nobody"}, Limit: 10}); err != nil || len(b.Items) != 0 {
		return fmt.Errorf("reading other keys returned %d events, %v; want none", len(b.Items), err)
	}
	b, err := h.Store.Read(ctx, l, driver.Query{Keys: []string{"nobody", "aside"}, Limit: 10})
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
	// The event fails again, and is then published.
	first.Attempts = 3
	err = h.Store.Settle(ctx, l, driver.Settlement{TTL: time.Minute, Failures: []driver.Failure{
		{Item: &first, State: driver.MovedAside, Attempts: 3, Age: 2 * time.Second, Error: "again"},
	}})
	if err != nil {
		return err
	}
	b, err = h.Store.Read(ctx, l, driver.Query{Keys: []string{"aside"}, Limit: 1})
	if err != nil || len(b.Items) != 1 || b.Items[0].Attempts != 3 || b.Items[0].Age != 2*time.Second {
		return fmt.Errorf("after another failure the event aside is %+v, %v", b.Items, err)
	}
	steps.Do(h.Store.Settle(ctx, l, driver.Settlement{TTL: time.Minute, Published: []*driver.Item{&b.Items[0]}}))
	b, err = h.Store.Read(ctx, l, driver.Query{Keys: []string{"aside"}, Limit: 10})
	if err != nil || len(b.Items) != 1 || b.Items[0].MessageID != before.Items[2].MessageID {
		return fmt.Errorf("after the first got through %d events stand aside, %v; want the second", len(b.Items), err)
	}
	return errors.Join(h.Store.Release(ctx, l), w.close(ctx))
}

// asideApart moves events of keys aside that a collation may call equal.
func asideApart(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	w := steps.Get(newWriter(h))
	all := []string{"k", "k ", "K"}
	steps.Do(w.write(ctx, all...))
	l := steps.Get(h.Store.Lease(ctx, 0, "first", time.Minute))
	b := steps.Get(h.Store.Read(ctx, l, driver.Query{Limit: 10}))
	set := driver.Settlement{Move: b.Next, TTL: time.Minute}
	for i := range b.Items {
		set.Failures = append(set.Failures, driver.Failure{Item: &b.Items[i], State: driver.MovedAside, Attempts: 1, Error: "x"})
	}
	steps.Do(errors.Join(h.Store.Settle(ctx, l, set), h.Store.Release(ctx, l)))
	l = steps.Get(h.Store.Lease(ctx, 0, "second", time.Minute))
	if len(l.Aside) != len(all) {
		return fmt.Errorf("%+v stand aside, want the keys %q", l.Aside, all)
	}
	for _, key := range all {
		b, err := h.Store.Read(ctx, l, driver.Query{Keys: []string{key}, Limit: 10})
		if err != nil || len(b.Items) != 1 || b.Items[0].Key != key {
			return fmt.Errorf("reading the key %q aside returned %d events, %v; want its own", key, len(b.Items), err)
		}
	}
	return errors.Join(h.Store.Release(ctx, l), w.close(ctx))
}
