package memcounter_test

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/memcounter"
)

func ExampleNew() {
	store, ctx := memcounter.New(), context.Background()
	err := store.Add(ctx, "view", "show-1", 1)
	pending, err2 := store.Pending(ctx, "view", []string{"show-1"})
	fmt.Println(pending, err, err2)
	// Output: map[show-1:1] <nil> <nil>
}

func ExampleNewApplier() {
	applier := memcounter.NewApplier()
	totals, err := applier.Totals(context.Background(), "view", []string{"show-1"})
	fmt.Println(totals, err)
	// Output: map[show-1:0] <nil>
}

func ExampleNewLog() {
	log := memcounter.NewLog()
	err := log.Append(driver.Change{Key: "post-1", N: 1})
	changes, _, err2 := log.Read(context.Background(), "", 10)
	fmt.Println(changes, err, err2)
	// Output: [{post-1 1}] <nil> <nil>
}
