package memqueue_test

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/memqueue"
)

func ExampleNew() {
	store, err := memqueue.New(memqueue.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	rules := driver.Rules{
		Threshold: 1, Active: 10 * time.Minute, Seen: 10 * time.Minute, NoShow: 150 * time.Second,
		Tick: time.Second, Batch: 100, SweepEvery: 30 * time.Second, Settle: 70 * time.Second,
	}
	got, err := store.Visit(ctx, "show-1", rules, driver.Beats{}, []driver.Visit{{User: "ann"}, {User: "bob"}, {User: "cy"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range got.Outcomes {
		fmt.Println("inside:", o.Status == driver.Active, "ahead:", o.Ahead)
	}
	if _, err = store.Visit(ctx, "show-1", rules, driver.Beats{}, []driver.Visit{{Kind: driver.Done, User: "ann"}}); err != nil {
		fmt.Println(err)
		return
	}
	admission, err := store.Admit(ctx, "show-1", rules)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("next:", admission.Admitted[0].User)
	// Output:
	// inside: true ahead: 0
	// inside: false ahead: 0
	// inside: false ahead: 1
	// next: bob
}
