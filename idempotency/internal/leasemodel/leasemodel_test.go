package leasemodel

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/memidempotency"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// broken is a lease store with one defect.
type broken struct {
	driver.LeaseStore
	claim    func(c *driver.Claim)
	complete func(c *driver.Claim)
	release  bool
}

func (b broken) Claim(ctx context.Context, r driver.Record, ttl time.Duration) (driver.Claim, error) {
	c, err := b.LeaseStore.Claim(ctx, r, ttl)
	if b.claim != nil {
		b.claim(&c)
	}
	return c, err
}

func (b broken) Complete(ctx context.Context, c driver.Claim, result []byte) error {
	if b.complete != nil {
		b.complete(&c)
	}
	return b.LeaseStore.Complete(ctx, c, result)
}

func (b broken) Release(ctx context.Context, c driver.Claim) error {
	if b.release {
		return nil
	}
	return b.LeaseStore.Release(ctx, c)
}

func TestBrokenStoresAreCaught(t *testing.T) {
	newest := map[string]int64{}
	remember := func(c *driver.Claim) {
		if c.State == driver.Claimed {
			newest[c.Key] = c.Token
		}
	}
	for name, tc := range map[string]struct {
		with   broken
		caught bool
	}{
		"none, the control":          {broken{}, false},
		"ignores releases":           {broken{release: true}, true},
		"calls a taken key done":     {broken{claim: func(c *driver.Claim) { c.State = max(c.State, driver.Done) }}, true},
		"gives every claim a token":  {broken{claim: func(c *driver.Claim) { c.Token = 7 }}, true},
		"completes under any token":  {broken{complete: func(c *driver.Claim) { c.Token = newest[c.Key] }, claim: remember}, true},
		"loses results":              {broken{claim: func(c *driver.Claim) { c.Result = nil }}, true},
		"hides that requests differ": {broken{claim: func(c *driver.Claim) { c.State = min(c.State, driver.Done) }}, true},
	} {
		t.Run(name, func(t *testing.T) {
			caught := false
			for seed := range 150 {
				err := rapid.Custom(func(t *rapid.T) error {
					s := memidempotency.NewLeases()
					tc.with.LeaseStore = s
					return run(t, tc.with, s.Backdate, "")
				}).Example(seed)
				caught = caught || err != nil
			}
			assert.Equal(t, tc.caught, caught, "caught")
		})
	}
}
