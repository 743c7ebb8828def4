package sqliteoutbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/internal/storetest"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
)

func TestStatusRows(t *testing.T) { database.StatusRows(t) }

// TestStatusOtherProcessesAreHeard has the writer and the relay on separate pools, and a relay
// that does not poll.
func TestStatusOtherProcessesAreHeard(t *testing.T) {
	h, db, path := openStatus(t, 1, false)
	relayDB, err := sqlitedb.Open(path, sqlitedb.Config{Synchronous: sqlitedb.Normal})
	require.NoError(t, err)
	defer relayDB.Close()
	store, err := sqliteoutbox.New(relayDB, sqliteoutbox.Config{Status: true, Reader: reader(t, path)})
	require.NoError(t, err)
	pub := &outboxtest.Publisher{}
	relay, err := outbox.NewRelay(store, pub, outbox.RelayConfig{Interval: time.Hour})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- relay.Run(running) }()
	for n := range 3 {
		storetest.Append(t, db, h.Store, storetest.Event(t, "a", n+1))
		require.NoError(t, pub.WaitFor(ctx, n+1))
	}
	stop()
	assert.NoError(t, <-done)
}
