package pgbus_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// listen counts the notifications of the schema's one bus until the returned function is called.
// Other schemas of the database use the same channel; the busiest sender is ours, since it is
// the one that publishes.
func listen(t *testing.T, url string) (heard func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(ctx, `LISTEN millrace_bus_messages`); err != nil {
		t.Fatal(err)
	}
	bySender := map[string]int{}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			n, err := conn.WaitForNotification(ctx)
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("listen: %v", err)
				}
				return
			}
			sender, _, _ := strings.Cut(n.Payload, " ")
			bySender[sender]++
		}
	})
	return func() int {
		cancel()
		wg.Wait()
		if err := conn.Close(context.Background()); err != nil {
			t.Error(err)
		}
		most := 0
		for _, n := range bySender {
			most = max(most, n)
		}
		return most
	}
}
