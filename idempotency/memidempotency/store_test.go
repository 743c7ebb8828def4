package memidempotency_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/idempotencytest"
	"github.com/millrace-go/millrace/idempotency/internal/leasemodel"
	"github.com/millrace-go/millrace/idempotency/memidempotency"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func harness() idempotencytest.Harness {
	s := memidempotency.New()
	return idempotencytest.Harness{Store: s, Backdate: memidempotency.Backdate(s)}
}

func TestConformance(t *testing.T) {
	idempotencytest.Run(t, func(*testing.T) idempotencytest.Harness { return harness() })
}

// notApplicable lists the cases that a store without transactions rules out. No other case may
// be skipped unnoticed.
var notApplicable = []string{"transaction-in-context", "outer-commit", "outer-rollback", "cancelled-in-handler", "fresh-in-a-transaction"}

func TestNotApplicable(t *testing.T) {
	var got []string
	suite := idempotencytest.Suite()
	for _, c := range suite.Cases {
		if missing := suite.Missing(c, harness()); missing != "" {
			got = append(got, c.Name)
			assert.Equalf(t, idempotencytest.NeedDB, missing, "%s is n/a", c.Name)
		}
	}
	if !slices.Equal(got, notApplicable) {
		t.Errorf("cases not applicable: %v, listed: %v", got, notApplicable)
	}
}

func ExampleNew() {
	store := memidempotency.New()
	for range 2 {
		fresh, err := store.Once(context.Background(), driver.Record{Key: "mailer:42"}, func(context.Context) error {
			fmt.Println("mail sent")
			return nil
		})
		fmt.Println(fresh, err)
	}
	// Output:
	// mail sent
	// true <nil>
	// false <nil>
}

func TestLeaseModel(t *testing.T) {
	leasemodel.Check(t, func(testing.TB) (driver.LeaseStore, leasemodel.Backdate) {
		s := memidempotency.NewLeases()
		return s, s.Backdate
	})
}

func TestLeaseConformance(t *testing.T) {
	idempotencytest.RunLeases(t, func(*testing.T) idempotencytest.LeaseHarness {
		s := memidempotency.NewLeases()
		return idempotencytest.LeaseHarness{Store: s, Backdate: s.Backdate}
	})
}

// TestBatchesDoNotDeadlock: a batch takes all its keys at once, so two that overlap in opposite
// orders cannot wait for each other.
func TestBatchesDoNotDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memidempotency.New()
		records := []driver.Record{{Key: "a"}, {Key: "b"}, {Key: "c"}}
		var wg sync.WaitGroup
		var news atomic.Int32
		for i := range 6 {
			wg.Go(func() {
				mine := slices.Clone(records)
				if i%2 == 0 {
					slices.Reverse(mine)
				}
				fresh, err := s.OnceBatch(t.Context(), mine, func(context.Context, []int) error {
					time.Sleep(time.Second) // synctest's clock
					return nil
				})
				assert.NoError(t, err)
				news.Add(int32(len(fresh)))
			})
		}
		wg.Wait()
		assert.EqualValues(t, 3, news.Load(), "keys were new")
	})
}

func ExampleNewLeases() {
	store := memidempotency.NewLeases()
	ctx := context.Background()
	claim := func() driver.Claim {
		c, err := store.Claim(ctx, driver.Record{Key: "mailer:42"}, time.Minute)
		fmt.Println(c.State, string(c.Result), err)
		return c
	}
	first := claim()
	claim()
	fmt.Println(store.Complete(ctx, first, []byte("sent")))
	claim()
	// Output:
	// claimed  <nil>
	// taken  <nil>
	// <nil>
	// done sent <nil>
}
