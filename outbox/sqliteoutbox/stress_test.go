package sqliteoutbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
)

// TestStress is a short run of the out-of-order stress. SQLite has one writer,
// so no reader loses events; the unrelated transaction is a reader.
func TestStress(t *testing.T) {
	_, db, path := open(t, sqliteoutbox.Config{})
	read := reader(t, path)
	store, err := sqliteoutbox.New(db, sqliteoutbox.Config{Reader: read})
	require.NoError(t, err)
	outboxtest.RunStress(t, outboxtest.StressConfig{
		Store: store, DB: db, Unrelated: read, UnrelatedReads: true,
		Duration: 2 * time.Second, UnrelatedFor: 1500 * time.Millisecond, MaxDelay: time.Millisecond,
	})
}
