package counter_test

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/counter"
	"github.com/millrace-go/millrace/counter/memcounter"
)

func ExampleNew() {
	applier := memcounter.NewApplier()
	views, err := counter.New("view", memcounter.New(), counter.Config{Applier: applier})
	check(err)
	ctx := context.Background()
	check(views.Add(ctx, "show-1", 1))
	check(views.Add(ctx, "show-1", 1))
	counts, err := views.Counts(ctx, "show-1")
	fmt.Println(counts, err)
	// Output: map[show-1:2] <nil>
}

func ExampleCounter_Flush() {
	store, applier, log := memcounter.New(), memcounter.NewApplier(), memcounter.NewLog()
	comments, err := counter.New("comment", store, counter.Config{Applier: applier, Source: log})
	check(err)
	ctx := context.Background()

	// Two comments are written; the addition of the second is lost.
	check(log.Append(counter.Change{Key: "post-1", N: 1}))
	check(comments.Add(ctx, "post-1", 1))
	check(log.Append(counter.Change{Key: "post-1", N: 1}))
	before, err := comments.Counts(ctx, "post-1")
	check(err)

	round, err := comments.Flush(ctx) // Run does so every 3 s
	check(err)
	after, err := comments.Counts(ctx, "post-1")
	check(err)
	fmt.Println(before, after)
	fmt.Println("rows:", round.Batches[0].Rows, "dropped:", round.Discarded[0].Deltas)
	// Output:
	// map[post-1:1] map[post-1:2]
	// rows: 2 dropped: [{post-1 1}]
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
