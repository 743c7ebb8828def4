package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/outbox/driver"
)

func retryParked(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	store := steps.Get(ability[driver.Parking](h))
	w := steps.Get(newWriter(h))
	steps.Do(w.write(ctx, "a", "b", "c"))
	l := steps.Get(h.Store.Lease(ctx, 0, "parker", time.Minute))
	b := steps.Get(h.Store.Read(ctx, l, driver.Query{Limit: 10}))
	set := driver.Settlement{Move: b.Next, TTL: time.Minute}
	for i := range b.Items {
		set.Failures = append(set.Failures, driver.Failure{Item: &b.Items[i], State: driver.Parked, Attempts: 9, Error: "given up"})
	}
	steps.Do(errors.Join(h.Store.Settle(ctx, l, set), h.Store.Release(ctx, l)))
	list, err := store.Parked(ctx, 0, 2)
	if err != nil || len(list) != 2 {
		return fmt.Errorf("Parked returned %d events, %v; want the 2 asked for", len(list), err)
	}
	rest, err := store.Parked(ctx, list[1].ID, 10)
	if err != nil || len(rest) != 1 || rest[0].Key == list[0].Key {
		return fmt.Errorf("Parked after the second returned %d events, %v; want the third", len(rest), err)
	}
	p := &Publisher{}
	steps.Do(drain(ctx, h, p, quick()))
	if n := len(p.Published()); n != 0 {
		return fmt.Errorf("%d parked events were published", n)
	}
	if n, err := store.Retry(ctx, rest[0].ID, 1<<60); err != nil || n != 1 {
		return fmt.Errorf("Retry of a parked event and one that is not there returned %d, %v; want 1", n, err)
	}
	steps.Do(drain(ctx, h, p, quick()))
	got := p.Published()
	if len(got) != 1 || got[0].Event.ID != rest[0].MessageID {
		return fmt.Errorf("after its retry %d events were published, want the third with its id", len(got))
	}
	if n, err := store.RetryAll(ctx); err != nil || n != 2 {
		return fmt.Errorf("RetryAll returned %d, %v; want 2", n, err)
	}
	steps.Do(drain(ctx, h, p, quick()))
	return errors.Join(w.once(p.Published()), w.close(ctx))
}

func prune(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	store := steps.Get(ability[driver.Pruner](h))
	w := steps.Get(newWriter(h))
	steps.Do(w.write(ctx, keys(10, "k")...))
	future := time.Now().Add(time.Hour)
	if n, err := store.Prune(ctx, 0, future, 100); err != nil || n != 0 {
		return fmt.Errorf("pruning deleted %d unpublished events, %v", n, err)
	}
	p := &Publisher{}
	steps.Do(drain(ctx, h, p, quick()))
	steps.Do(w.write(ctx, "later"))
	if n, err := store.Prune(ctx, 0, time.Now().Add(-time.Hour), 100); err != nil || n != 0 {
		return fmt.Errorf("pruning deleted %d events that are younger than asked, %v", n, err)
	}
	if n, err := store.Prune(ctx, 0, future, 4); err != nil || n != 4 {
		return fmt.Errorf("a chunk of 4 deleted %d events, %v", n, err)
	}
	// The relay's own loop deletes the rest, and new events are published.
	cfg := quick()
	cfg.Retention, cfg.PruneInterval, cfg.PruneChunk = time.Nanosecond, 20*time.Millisecond, 3
	pruned := make(chan int, 100)
	cfg.Hooks.Pruned = func(_, n int) { pruned <- n }
	err = with(ctx, h, p, cfg, func() error {
		for n := 0; n < 7; {
			select {
			case m := <-pruned:
				n += m
			case <-ctx.Done():
				return fmt.Errorf("the relay pruned %d events, want 7: %w", n, ctx.Err())
			}
		}
		return nil
	})
	return errors.Join(err, w.once(p.Published()), w.close(ctx))
}

// pruneOfMany prunes one shard after the other: each has its own events, which no other one's
// turn deletes.
func pruneOfMany(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	store := steps.Get(ability[driver.Pruner](h))
	w := steps.Get(newWriter(h))
	const n = 48
	for range 2 { // rows of a shard before and behind rows of each other shard
		steps.Do(w.write(ctx, keys(n/2, "k")...))
	}
	shards := steps.Get(h.Store.Shards(ctx))
	events := make([]int, shards)
	for shard := range shards {
		l, b := steps.Two(readShard(ctx, h.Store, shard, n))
		events[shard] = len(b.Items)
		steps.Do(h.Store.Release(ctx, l))
	}
	p := &Publisher{}
	steps.Do(drain(ctx, h, p, quick()))
	future := time.Now().Add(time.Hour)
	for shard, want := range events {
		if got, err := store.Prune(ctx, shard, future, n); err != nil || got != want {
			return fmt.Errorf("pruning shard %d deleted %d events, %v; it has %d of %v", shard, got, err, want, events)
		}
	}
	return errors.Join(w.once(p.Published()), w.close(ctx))
}

func stats(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	store := steps.Get(ability[driver.Inspector](h))
	w := steps.Get(newWriter(h))
	look := func() (driver.ShardStats, error) {
		all, err := store.Stats(ctx)
		if err != nil || len(all) != 1 {
			return driver.ShardStats{}, fmt.Errorf("Stats returned %d shards, %v; want 1", len(all), err)
		}
		return all[0], nil
	}
	st := steps.Get(look())
	if st != (driver.ShardStats{}) {
		return fmt.Errorf("an empty outbox has stats %+v", st)
	}
	steps.Get(settled(ctx, h, w))
	l := steps.Get(h.Store.Lease(ctx, 0, "the holder", time.Minute))
	st = steps.Get(look())
	if age := time.Since(st.Oldest); age < -time.Minute || age > time.Minute {
		return fmt.Errorf("the oldest event was appended %v ago", age)
	}
	st.Oldest = time.Time{}
	want := driver.ShardStats{Backlog: 4, Aside: 2, Failing: 2, Parked: 1, Holder: "the holder"}
	if st != want {
		return fmt.Errorf("stats are %+v, want %+v", st, want)
	}
	// A parked event is not among the deferred ones.
	b, err := h.Store.Read(ctx, l, driver.Query{Keys: []string{"aside"}, Limit: 1})
	if err != nil || len(b.Items) != 1 {
		return fmt.Errorf("reading aside returned %d events, %v; want 1", len(b.Items), err)
	}
	parked := driver.Failure{Item: &b.Items[0], State: driver.Parked, Attempts: 3, Age: time.Hour, Error: "parked from aside"}
	steps.Do(h.Store.Settle(ctx, l, driver.Settlement{TTL: time.Minute, Failures: []driver.Failure{parked}}))
	st = steps.Get(look())
	st.Oldest = time.Time{}
	want = driver.ShardStats{Backlog: 3, Aside: 1, Failing: 1, Parked: 2, Holder: "the holder"}
	if st != want {
		return fmt.Errorf("after an event aside was parked the stats are %+v, want %+v", st, want)
	}
	steps.Do(h.Store.Release(ctx, l))
	st = steps.Get(look())
	if st.Holder != "" {
		return fmt.Errorf("a released shard is held by %q", st.Holder)
	}
	return w.close(ctx)
}
