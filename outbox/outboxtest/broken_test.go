package outboxtest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/sqltx"
)

// Each store below breaks one guarantee, and the case that proves the guarantee must detect it.

type unatomic struct{ *Memory }

func (s unatomic) Append(ctx context.Context, _ sqltx.Execer, records []driver.Record) error {
	return s.Memory.Do(ctx, func(ctx context.Context, tx sqltx.Execer) error { return s.Memory.Append(ctx, tx, records) })
}

type unfenced struct{ *Memory }

func (s unfenced) Settle(ctx context.Context, l driver.Lease, set driver.Settlement) error {
	s.mu.Lock()
	l.Token = s.shards[l.Shard].token
	s.mu.Unlock()
	return s.Memory.Settle(ctx, l, set)
}

// global does what its holder does to one shard to all others too.
type global struct {
	*Memory
	settles, releases bool
}

func (s global) others(shard int, each func(sh *memoryShard)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.shards {
		if i != shard {
			each(&s.shards[i])
		}
	}
}

func (s global) Settle(ctx context.Context, l driver.Lease, set driver.Settlement) error {
	if s.settles {
		s.others(l.Shard, func(sh *memoryShard) { sh.until = time.Now().Add(set.TTL) })
	}
	return s.Memory.Settle(ctx, l, set)
}

func (s global) Release(ctx context.Context, l driver.Lease) error {
	if s.releases {
		s.others(l.Shard, func(sh *memoryShard) { sh.holder = "" })
	}
	return s.Memory.Release(ctx, l)
}

// mixing reads the events aside of all shards under the lease of one.
type mixing struct{ *Memory }

func (s mixing) Read(ctx context.Context, l driver.Lease, q driver.Query) (all driver.Batch, err error) {
	if len(q.Keys) == 0 {
		return s.Memory.Read(ctx, l, q)
	}
	for l.Shard = range s.shards {
		b, err := s.Memory.Read(ctx, l, q)
		if err != nil {
			return all, err
		}
		all.Items = append(all.Items, b.Items...)
	}
	return all, nil
}

// padding overlooks spaces at the end of a key, as a collation may.
type padding struct{ *Memory }

func (s padding) Read(ctx context.Context, l driver.Lease, q driver.Query) (driver.Batch, error) {
	for _, key := range q.Keys {
		q.Keys = append(q.Keys, key+" ", strings.TrimRight(key, " "))
	}
	return s.Memory.Read(ctx, l, q)
}

// brief does not extend a lease by a settlement.
type brief struct{ *Memory }

func (s brief) Settle(ctx context.Context, l driver.Lease, set driver.Settlement) error {
	s.mu.Lock()
	set.TTL = time.Until(s.shards[l.Shard].until)
	s.mu.Unlock()
	return s.Memory.Settle(ctx, l, set)
}

// freeing lets a former holder release the lease of the present one.
type freeing struct{ *Memory }

func (s freeing) Release(ctx context.Context, l driver.Lease) error {
	s.mu.Lock()
	l.Token = s.shards[l.Shard].token
	s.mu.Unlock()
	return s.Memory.Release(ctx, l)
}

// severing prunes what is aside with the rest.
type severing struct{ *Memory }

func (s severing) Prune(ctx context.Context, shard int, before time.Time, limit int) (int, error) {
	s.mu.Lock()
	s.shards[shard].aside = nil
	s.mu.Unlock()
	return s.Memory.Prune(ctx, shard, before, limit)
}

type generous struct{ *Memory }

func (s generous) Lease(ctx context.Context, shard int, holder string, ttl time.Duration) (driver.Lease, error) {
	s.mu.Lock()
	s.shards[shard].holder = ""
	s.mu.Unlock()
	return s.Memory.Lease(ctx, shard, holder, ttl)
}

type skipping struct{ *Memory }

func (s skipping) Read(ctx context.Context, l driver.Lease, q driver.Query) (driver.Batch, error) {
	b, err := s.Memory.Read(ctx, l, q)
	if len(b.Items) > 3 {
		b.Items = slices.Delete(b.Items, 1, 2)
	}
	return b, err
}

type reversing struct{ *Memory }

func (s reversing) Read(ctx context.Context, l driver.Lease, q driver.Query) (driver.Batch, error) {
	b, err := s.Memory.Read(ctx, l, q)
	slices.Reverse(b.Items)
	return b, err
}

type headless struct{ *Memory }

func (s headless) Read(ctx context.Context, l driver.Lease, q driver.Query) (driver.Batch, error) {
	b, err := s.Memory.Read(ctx, l, q)
	for i := range b.Items {
		b.Items[i].Headers = `{"content-type":"application/octet-stream","ce_specversion":"1.0","ce_id":"x","ce_type":"y","ce_source":"z"}`
	}
	return b, err
}

type forgetful struct{ *Memory }

func (s forgetful) Settle(ctx context.Context, l driver.Lease, set driver.Settlement) error {
	set.Failures = nil
	return s.Memory.Settle(ctx, l, set)
}

type repeating struct{ *Memory }

func (s repeating) Settle(ctx context.Context, l driver.Lease, set driver.Settlement) error {
	for _, f := range set.Failures {
		if f.State == driver.Parked {
			s.mu.Lock()
			s.parked = append(s.parked, driver.ParkedEvent{ID: f.Item.ID, MessageID: f.Item.MessageID})
			s.mu.Unlock()
		}
	}
	return s.Memory.Settle(ctx, l, set)
}

// hasty settles when it reads, so a crash loses the events that it had read.
type hasty struct{ *Memory }

func (s hasty) Read(ctx context.Context, l driver.Lease, q driver.Query) (driver.Batch, error) {
	b, err := s.Memory.Read(ctx, l, q)
	if err == nil && len(q.Keys) == 0 {
		err = s.Memory.Settle(ctx, l, driver.Settlement{Move: b.Next, TTL: time.Minute})
	}
	return b, err
}

type deaf struct{ *Memory }

func (deaf) Subscribe() (<-chan struct{}, func()) { return nil, func() {} }

// returning moves the cursor back when it stores a failure.
type returning struct{ *Memory }

func (s returning) Settle(ctx context.Context, l driver.Lease, set driver.Settlement) error {
	if set.Move == nil && len(set.Failures) > 0 {
		s.mu.Lock()
		s.shards[l.Shard].cursor = l.State.(int)
		s.mu.Unlock()
	}
	return s.Memory.Settle(ctx, l, set)
}

// sweeping prunes every shard with one.
type sweeping struct{ *Memory }

func (s sweeping) Prune(ctx context.Context, _ int, before time.Time, limit int) (sum int, err error) {
	for shard := range s.shards {
		n, err := s.Memory.Prune(ctx, shard, before, limit)
		if sum += n; err != nil {
			return sum, err
		}
	}
	return sum, nil
}

type greedy struct{ *Memory }

func (s greedy) Prune(ctx context.Context, shard int, before time.Time, limit int) (int, error) {
	s.mu.Lock()
	sh := &s.shards[shard]
	n := min(len(sh.rows), limit)
	sh.rows, sh.first = sh.rows[n:], sh.first+n
	s.mu.Unlock()
	return n, nil
}

type lavish struct{ *Memory }

func (s lavish) Retry(ctx context.Context, _ ...int64) (int, error) { return s.RetryAll(ctx) }

type blind struct{ *Memory }

func (s blind) Stats(ctx context.Context) ([]driver.ShardStats, error) {
	return make([]driver.ShardStats, len(s.shards)), nil
}

// endless lists the failing events from the beginning on every page.
type endless struct{ *Memory }

func (s endless) Failing(ctx context.Context, _ int64, limit int) ([]driver.FailingEvent, error) {
	return s.Memory.Failing(ctx, 0, limit)
}

// accusing also lists events that only wait behind a failing one.
type accusing struct{ *Memory }

func (s accusing) Failing(ctx context.Context, after int64, limit int) ([]driver.FailingEvent, error) {
	all, err := s.Memory.Failing(ctx, after, limit)
	for i := range s.shards {
		for _, a := range s.shards[i].aside {
			if a.item.Attempts == 0 && a.item.ID > after {
				all = append(all, driver.FailingEvent{ID: a.item.ID})
			}
		}
	}
	return all, err
}

// plain is a store without abilities.
type plain struct{ driver.Store }

func TestNotApplicable(t *testing.T) {
	about := []string{"ShardsAreFixed", "WakeOnCommit", "RetryParked", "Prune", "PruneOfManyShards", "Stats", "Failing", "FailingOfManyShards"}
	for _, c := range Cases() {
		m := NewMemory(max(c.Shards, 1))
		h := Harness{Store: plain{m}, InTx: m.Do}
		if slices.Contains(about, c.Name) {
			require.ErrorIs(t, c.Run(t.Context(), h), errNotApplicable, c.Name)
			require.NoError(t, c.Check(t, func(testing.TB, int) Harness { return h }), c.Name)
		}
	}
}

// silent never answers, whatever its context says.
type silent struct {
	*Memory
	answer chan struct{}
}

func (s silent) Lease(context.Context, int, string, time.Duration) (driver.Lease, error) {
	<-s.answer
	return driver.Lease{}, errors.New("silent")
}

func TestAStoreThatHangsFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory(1)
		s := silent{m, make(chan struct{})}
		defer close(s.answer)
		c := Case{Name: "LeaseExcludes", Run: leaseExcludes}
		require.ErrorIs(t, c.Check(t, func(testing.TB, int) Harness { return Harness{Store: s, InTx: m.Do} }), context.DeadlineExceeded)
	})
}

func TestSuiteNotices(t *testing.T) {
	for _, broken := range []struct {
		name  string
		store func(*Memory) driver.Store
		cases []string
	}{
		{"appends outside the transaction", func(m *Memory) driver.Store { return unatomic{m} }, []string{"Atomic"}},
		{"settles without the token", func(m *Memory) driver.Store { return unfenced{m} }, []string{"Fencing"}},
		{"extends the leases of all shards", func(m *Memory) driver.Store { return global{Memory: m, settles: true} }, []string{"ShardsAreApart"}},
		{"releases all shards", func(m *Memory) driver.Store { return global{Memory: m, releases: true} }, []string{"ShardsAreApart"}},
		{"reads aside in all shards", func(m *Memory) driver.Store { return mixing{m} }, []string{"ShardsAreApart"}},
		{"reads a key with a space for one without", func(m *Memory) driver.Store { return padding{m} }, []string{"AsideKeysAreApart"}},
		{"does not extend a lease by a settlement", func(m *Memory) driver.Store { return brief{m} }, []string{"ShardsAreApart"}},
		{"lets a former holder release", func(m *Memory) driver.Store { return freeing{m} }, []string{"LeaseExcludes"}},
		{"prunes what is aside", func(m *Memory) driver.Store { return severing{m} }, []string{"AsideIsRemembered"}},
		{"takes any number of shards", func(m *Memory) driver.Store { return m }, []string{"ShardsAreFixed"}},
		{"gives a lease twice", func(m *Memory) driver.Store { return generous{m} }, []string{"LeaseExcludes"}},
		{"skips a row", func(m *Memory) driver.Store { return skipping{m} }, []string{"OrderPerKey", "ManyInOneAppend", "ReadAhead"}},
		{"reads backwards", func(m *Memory) driver.Store { return reversing{m} }, []string{"ManyInOneAppend"}},
		{"changes headers", func(m *Memory) driver.Store { return headless{m} }, []string{"Faithful"}},
		{"forgets failures", func(m *Memory) driver.Store { return forgetful{m} },
			[]string{"HeldIsRemembered", "AsideIsRemembered", "SettleTwice", "ByKeyPasses", "MaxAgeParksStrict", "MaxAgeParksByKey"}},
		{"parks twice", func(m *Memory) driver.Store { return repeating{m} }, []string{"SettleTwice"}},
		{"settles before publishing", func(m *Memory) driver.Store { return hasty{m} }, []string{"CrashRepeatsOneBatch", "ReadAhead"}},
		{"wakes nobody", func(m *Memory) driver.Store { return deaf{m} }, []string{"WakeOnCommit"}},
		{"goes back", func(m *Memory) driver.Store { return returning{m} }, []string{"CursorStays"}},
		{"prunes what waits", func(m *Memory) driver.Store { return greedy{m} }, []string{"Prune"}},
		{"prunes all shards for one", func(m *Memory) driver.Store { return sweeping{m} }, []string{"PruneOfManyShards"}},
		{"retries all for one", func(m *Memory) driver.Store { return lavish{m} }, []string{"RetryParked"}},
		{"lists one page for ever", func(m *Memory) driver.Store { return endless{m} }, []string{"Failing", "FailingOfManyShards"}},
		{"calls what waits failing", func(m *Memory) driver.Store { return accusing{m} }, []string{"Failing"}},
		{"counts nothing", func(m *Memory) driver.Store { return blind{m} }, []string{"Stats"}},
	} {
		t.Run(broken.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range Cases() {
				if !slices.Contains(broken.cases, c.Name) {
					continue
				}
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				m := NewMemory(max(c.Shards, 1))
				err := c.Run(ctx, Harness{Store: broken.store(m), InTx: m.Do, Reopen: func(shards int) (driver.Store, error) { return NewMemory(shards), nil }})
				cancel()
				if err == nil || errors.Is(err, errNotApplicable) {
					t.Errorf("%s did not notice (%v)", c.Name, err)
				} else {
					t.Logf("%s: %v", c.Name, err)
				}
			}
		})
	}
}
