package outboxtest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/sqltx"
)

func ExampleNewMemory() {
	ctx := context.Background()
	store := outboxtest.NewMemory(1)
	box, err := outbox.New(store, outbox.Config{Topic: "t"})
	if err != nil {
		panic(err)
	}
	for _, outcome := range []error{nil, errors.New("rolled back")} {
		err := store.Do(ctx, func(ctx context.Context, tx sqltx.Execer) error {
			e, err := outboxtest.NewEvent("key", 1)
			if err != nil {
				return err
			}
			return errors.Join(box.Append(ctx, tx, e), outcome)
		})
		stats, _ := store.Stats(ctx)
		fmt.Println(err, stats[0].Backlog)
	}
	// Output:
	// <nil> 1
	// rolled back 1
}
