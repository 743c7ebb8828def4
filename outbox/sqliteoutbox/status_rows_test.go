package sqliteoutbox_test

import (
	"context"
	"testing"
	"time"

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
	if err != nil {
		t.Fatal(err)
	}
	defer relayDB.Close()
	store, err := sqliteoutbox.New(relayDB, sqliteoutbox.Config{Status: true, Reader: reader(t, path)})
	if err != nil {
		t.Fatal(err)
	}
	pub := &outboxtest.Publisher{}
	relay, err := outbox.NewRelay(store, pub, outbox.RelayConfig{Interval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- relay.Run(running) }()
	for n := range 3 {
		storetest.Append(t, db, h.Store, storetest.Event(t, "a", n+1))
		if err := pub.WaitFor(ctx, n+1); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
