package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/outbox/driver"
)

// failing lists a held event and a deferred one, but neither the parked one nor those that only
// wait.
func failing(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	store := steps.Get(ability[driver.Failing](h))
	w := steps.Get(newWriter(h))
	if none, err := store.Failing(ctx, 0, 10); err != nil || len(none) != 0 {
		return fmt.Errorf("in an empty outbox %d events fail, %v", len(none), err)
	}
	before := steps.Get(settled(ctx, h, w))
	all, err := store.Failing(ctx, 0, 10)
	if err != nil || len(all) != 2 {
		return fmt.Errorf("%d events fail, %v; want 2: one aside and one held", len(all), err)
	}
	for i, want := range []struct {
		item     driver.Item
		aside    bool
		attempts int
		age      time.Duration
		wait     time.Duration
		text     string
	}{
		{before.Items[1], true, 2, time.Second, time.Hour, "moved it"},
		{before.Items[3], false, 3, time.Minute, 2 * time.Hour, "held it"},
	} {
		got := all[i]
		if got.ID != want.item.ID || got.MessageID != want.item.MessageID || got.Key != want.item.Key || got.Topic != "events" || got.Shard != 0 {
			return fmt.Errorf("failing event %d is %+v, want the one with id %s", i, got, want.item.MessageID)
		}
		if got.Aside != want.aside || got.Attempts != want.attempts || got.Age != want.age || !strings.HasPrefix(got.LastError, want.text) {
			return fmt.Errorf("failing event %d is %+v, want %d attempts, age %v, aside %t, error %q", i, got, want.attempts, want.age, want.aside, want.text)
		}
		for what, at := range map[string]time.Time{
			"was appended": got.CreatedAt, "failed first": got.FailedSince, "is tried again": got.NextAttemptAt.Add(-want.wait),
		} {
			if off := time.Since(at); off < -time.Minute || off > time.Minute {
				return fmt.Errorf("failing event %d %s %v off", i, what, off)
			}
		}
	}
	if page, err := store.Failing(ctx, 0, 1); err != nil || len(page) != 1 || page[0].ID != all[0].ID {
		return fmt.Errorf("a page of 1 is %+v, %v; want the first", page, err)
	}
	if page, err := store.Failing(ctx, all[0].ID, 10); err != nil || len(page) != 1 || page[0].ID != all[1].ID {
		return fmt.Errorf("the page behind the first is %+v, %v; want the second", page, err)
	}
	return errors.Join(failingEnds(ctx, h, store, all[0].ID), w.close(ctx))
}

// failingEnds publishes the held event of settled and parks the deferred one: neither is listed
// any longer.
func failingEnds(ctx context.Context, h Harness, store driver.Failing, aside int64) (err error) {
	defer steps.End(&err)
	l := steps.Get(h.Store.Lease(ctx, 0, "second", time.Minute))
	b, err := h.Store.Read(ctx, l, driver.Query{Limit: 1})
	if err != nil || len(b.Items) != 1 {
		return fmt.Errorf("read %d events, %v; want the held one", len(b.Items), err)
	}
	steps.Do(h.Store.Settle(ctx, l, driver.Settlement{Published: []*driver.Item{&b.Items[0]}, Move: b.Next, TTL: time.Minute}))
	if left, err := store.Failing(ctx, 0, 10); err != nil || len(left) != 1 || left[0].ID != aside {
		return fmt.Errorf("after the held event got through %+v fail, %v; want the one aside", left, err)
	}
	b, err = h.Store.Read(ctx, l, driver.Query{Keys: []string{"aside"}, Limit: 1})
	if err != nil || len(b.Items) != 1 {
		return fmt.Errorf("read %d events aside, %v; want 1", len(b.Items), err)
	}
	parked := driver.Failure{Item: &b.Items[0], State: driver.Parked, Attempts: 3, Error: "given up"}
	steps.Do(h.Store.Settle(ctx, l, driver.Settlement{Failures: []driver.Failure{parked}, TTL: time.Minute}))
	if left, err := store.Failing(ctx, 0, 10); err != nil || len(left) != 0 {
		return fmt.Errorf("after the other was parked %+v fail, %v; want none", left, err)
	}
	return h.Store.Release(ctx, l)
}

// failingOfMany lists the failing events of several shards in pages, by id, and counts those of
// each shard.
func failingOfMany(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	store := steps.Get(ability[driver.Failing](h))
	w := steps.Get(newWriter(h))
	const n = 24
	steps.Do(w.write(ctx, keys(n, "k")...))
	shards := steps.Get(h.Store.Shards(ctx))
	aside := make([]int, shards)
	for shard := range shards {
		l, b := steps.Two(readShard(ctx, h.Store, shard, n))
		aside[shard] = len(b.Items)
		set := driver.Settlement{Move: b.Next, TTL: time.Minute}
		for i := range b.Items {
			b.Items[i].Attempts = 1
			set.Failures = append(set.Failures, driver.Failure{Item: &b.Items[i], State: driver.MovedAside, Attempts: 1, Error: "no"})
		}
		steps.Do(errors.Join(h.Store.Settle(ctx, l, set), h.Store.Release(ctx, l)))
	}
	seen, of, after := 0, map[int]bool{}, int64(0)
	for {
		page, err := store.Failing(ctx, after, 7)
		if err != nil || len(page) > 7 {
			return fmt.Errorf("a page of 7 has %d events, %v", len(page), err)
		}
		if len(page) == 0 {
			break
		}
		for _, f := range page {
			if f.ID <= after {
				return fmt.Errorf("id %d comes after %d", f.ID, after)
			}
			after, of[f.Shard], seen = f.ID, true, seen+1
		}
	}
	if seen != n || len(of) != shards {
		return fmt.Errorf("the pages have %d events of %d shards, want %d of %d", seen, len(of), n, shards)
	}
	if inspector, ok := h.Store.(driver.Inspector); ok {
		all, err := inspector.Stats(ctx)
		if err != nil || len(all) != shards {
			return fmt.Errorf("Stats returned %d shards, %v; want %d", len(all), err, shards)
		}
		for _, st := range all {
			if want := aside[st.Shard]; st.Backlog != want || st.Aside != want || st.Failing != want {
				return fmt.Errorf("shard %d has %d events aside, and stats %+v", st.Shard, want, st)
			}
		}
	}
	return w.close(ctx)
}

// readShard leases a shard and reads its events, of which there have to be some.
func readShard(ctx context.Context, store driver.Store, shard, limit int) (driver.Lease, driver.Batch, error) {
	l, err := store.Lease(ctx, shard, "first", time.Minute)
	if err != nil {
		return l, driver.Batch{}, err
	}
	b, err := store.Read(ctx, l, driver.Query{Limit: limit})
	if err == nil && len(b.Items) == 0 {
		err = fmt.Errorf("no event of shard %d is read", shard)
	}
	return l, b, err
}
