package memgate_test

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/queue/frontgate/memgate"
)

func ExampleNew() {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	store, err := memgate.New(memgate.Config{Now: func() time.Time { return now }})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	if _, err := store.Switch(ctx, "show-1", true); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := store.Assign(ctx, "show-1", 700); err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		round, err := store.Advance(ctx, "show-1", 500, 10*time.Second)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("raised by", round.Moved, "to", round.Serving, "of", round.Assigned, "next in", round.Next)
		now = now.Add(5 * time.Second)
	}
	// Output:
	// raised by 500 to 500 of 700 next in 10s
	// raised by 0 to 500 of 700 next in 5s
	// raised by 200 to 700 of 700 next in 10s
}
