package queuetest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/queuetest"
)

func ExampleSuite() {
	store, err := memqueue.New(memqueue.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	h := queuetest.Harness{Store: store}
	suite := queuetest.Suite()
	for _, c := range suite.Cases {
		switch missing := suite.Missing(c, h); {
		case c.Name != "order-of-arrival" && c.Name != "tick-guard":
		case missing != "":
			fmt.Println(c.Name, "n/a:", missing)
		default:
			fmt.Println(c.Name, suite.Check(context.Background(), c, h))
		}
	}
	// Output:
	// order-of-arrival <nil>
	// tick-guard n/a: the store's clock cannot be moved (Harness.Advance is nil)
}

func ExampleWalk() {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	store, err := memqueue.New(memqueue.Config{Now: func() time.Time { return now }})
	if err != nil {
		fmt.Println(err)
		return
	}
	h := queuetest.Harness{Store: store, Advance: func(d time.Duration) { now = now.Add(d) }}
	fmt.Println(queuetest.Walk(context.Background(), h, rand.New(rand.NewPCG(1, 2)), 200))
	// Output:
	// 200 <nil>
}
