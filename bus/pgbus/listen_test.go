package pgbus_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listen counts the notifications of the schema's one bus until the returned function is called.
// Other schemas of the database use the same channel; the busiest sender is ours, since it is
// the one that publishes.
func listen(t *testing.T, url string) (heard func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	conn, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	_, err = conn.Exec(ctx, `LISTEN millrace_bus_messages`)
	require.NoError(t, err)
	bySender := map[string]int{}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			n, err := conn.WaitForNotification(ctx)
			if err != nil {
				assert.ErrorIs(t, err, context.Canceled, "listen")
				return
			}
			sender, _, _ := strings.Cut(n.Payload, " ")
			bySender[sender]++
		}
	})
	return func() int {
		cancel()
		wg.Wait()
		assert.NoError(t, conn.Close(context.Background()))
		most := 0
		for _, n := range bySender {
			most = max(most, n)
		}
		return most
	}
}
