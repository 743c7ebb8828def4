package coalescetest_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/coalescetest"
	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/coalesce/memcoalesce"
	"github.com/millrace-go/millrace/conformance"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// backend is a correct store with some calls replaced.
type backend struct {
	driver.Store
	request func(ctx context.Context, key string, p coalesce.Priority, again bool, ttl driver.TTLs) (coalesce.Decision, error)
	release func(ctx context.Context, t coalesce.Ticket) (bool, error)
	done    func(ctx context.Context, t coalesce.Ticket, ttl driver.TTLs) (driver.End, error)
	extend  func(ctx context.Context, t coalesce.Ticket, ttl driver.TTLs) (bool, error)
	current func(ctx context.Context, key string) (int64, bool, error)
}

func (b backend) Request(ctx context.Context, key string, p coalesce.Priority, again bool, ttl driver.TTLs) (coalesce.Decision, error) {
	if b.request == nil {
		return b.Store.Request(ctx, key, p, again, ttl)
	}
	return b.request(ctx, key, p, again, ttl)
}

func (b backend) Release(ctx context.Context, t coalesce.Ticket) (bool, error) {
	if b.release == nil {
		return b.Store.Release(ctx, t)
	}
	return b.release(ctx, t)
}

func (b backend) Done(ctx context.Context, t coalesce.Ticket, ttl driver.TTLs) (driver.End, error) {
	if b.done == nil {
		return b.Store.Done(ctx, t, ttl)
	}
	return b.done(ctx, t, ttl)
}

func (b backend) Extend(ctx context.Context, t coalesce.Ticket, ttl driver.TTLs) (bool, error) {
	if b.extend == nil {
		return b.Store.Extend(ctx, t, ttl)
	}
	return b.extend(ctx, t, ttl)
}

func (b backend) Current(ctx context.Context, key string) (int64, bool, error) {
	if b.current == nil {
		return b.Store.Current(ctx, key)
	}
	return b.current(ctx, key)
}

// defect is a broken store and the cases that must fail on it.
type defect struct {
	name   string
	caught []string
	with   func(s driver.MemoryStore) driver.Store
}

func harness(with func(s driver.MemoryStore) driver.Store) coalescetest.Harness {
	s := memcoalesce.New()
	return coalescetest.Harness{Store: with(s), Backdate: s.Backdate, Lose: s.Lose}
}

func TestBrokenStoresAreCaught(t *testing.T) {
	var mutants []conformance.Mutant[coalescetest.Harness]
	for _, d := range slices.Concat(defects(), markDefects(), raceDefects()) {
		mutants = append(mutants, conformance.Mutant[coalescetest.Harness]{
			Name: d.name, Cases: d.caught, Open: func(*testing.T) coalescetest.Harness { return harness(d.with) },
		})
	}
	coalescetest.Suite().Mutants(t, mutants)
}

// TestCorrectStorePasses is the control: without a defect the same harness passes every case,
// and the stores under the defects pass the cases that they are used for.
func TestCorrectStorePasses(t *testing.T) {
	coalescetest.Run(t, func(*testing.T) coalescetest.Harness {
		return harness(func(s driver.MemoryStore) driver.Store { return backend{Store: s} })
	})
	marks := map[string]bool{}
	for _, d := range markDefects() {
		for _, name := range d.caught {
			marks[name] = true
		}
	}
	races := map[string]bool{}
	for _, d := range raceDefects() {
		for _, name := range d.caught {
			races[name] = true
		}
	}
	for _, c := range coalescetest.Suite().Cases {
		if marks[c.Name] {
			err := coalescetest.Suite().Check(t.Context(), c, harness(func(s driver.MemoryStore) driver.Store { return marking(s, mistakes{}) }))
			assert.NoErrorf(t, err, "marks without a mistake: %s", c.Name)
		}
		if races[c.Name] {
			err := coalescetest.Suite().Check(t.Context(), c, harness(func(driver.MemoryStore) driver.Store { return &naive{} }))
			assert.NoErrorf(t, err, "steps that do not meet: %s", c.Name)
		}
	}
}

// holder returns the holder of a key's lock.
func holder(ctx context.Context, s driver.Store, key string, ttl driver.TTLs) (coalesce.Ticket, bool) {
	d, err := s.Request(ctx, key, coalesce.Low, false, ttl)
	if err != nil {
		return coalesce.Ticket{}, false
	}
	if d.Mine() {
		_, _ = s.Release(ctx, d.Ticket) // a store in memory does not fail
		return coalesce.Ticket{}, false
	}
	return d.Ticket, true
}

var ttls = driver.TTLs{High: time.Hour, Low: time.Hour, Version: 2 * time.Hour}
