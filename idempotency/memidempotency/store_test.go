package memidempotency_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/idempotencytest"
	"github.com/millrace-go/millrace/idempotency/memidempotency"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func harness() idempotencytest.Harness {
	s := memidempotency.New()
	return idempotencytest.Harness{Store: s, Backdate: s.Backdate}
}

func TestConformance(t *testing.T) {
	idempotencytest.Run(t, func(*testing.T) idempotencytest.Harness { return harness() })
}

// notApplicable lists the cases that a store without transactions rules out. A
// case may not drop out of the suite unnoticed.
var notApplicable = []string{"transaction-in-context", "outer-commit", "outer-rollback", "cancelled-in-handler"}

func TestNotApplicable(t *testing.T) {
	var got []string
	for _, c := range idempotencytest.Cases() {
		if missing := c.Missing(harness()); missing != "" {
			got = append(got, c.Name)
			if missing != idempotencytest.NeedDB {
				t.Errorf("%s is n/a: %s", c.Name, missing)
			}
		}
	}
	if !slices.Equal(got, notApplicable) {
		t.Errorf("cases not applicable: %v, listed: %v", got, notApplicable)
	}
}

func ExampleNew() {
	store := memidempotency.New()
	for range 2 {
		fresh, err := store.Once(context.Background(), idempotency.Record{Key: "mailer:42"}, func(context.Context) error {
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
