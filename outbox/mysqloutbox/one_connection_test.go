package mysqloutbox_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/storetest"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
)

func TestPoolOfOneConnection(t *testing.T) { each(t, storetest.Database.OneConnection) }

func TestFewerShards(t *testing.T) { each(t, storetest.Database.FewerShards) }

// TestReadEndedByTheServer: a read waits for a lock until the server's own limit ends it. The
// relay then asks for fewer events.
func TestReadEndedByTheServer(t *testing.T) { servicetest.EachMySQL(t, testReadEndedByTheServer) }

func testReadEndedByTheServer(t *testing.T, server servicetest.MySQLServer) {
	for name, status := range map[string]bool{"cursor": false, "status": true} {
		t.Run(name, func(t *testing.T) {
			url := server.URL(t)
			db, err := mysqldb.Open(url)
			require.NoError(t, err)
			t.Cleanup(func() { db.Close() })
			hasty, err := mysqldb.Open(url)
			require.NoError(t, err)
			t.Cleanup(func() { hasty.Close() })
			hasty.SetMaxOpenConns(1) // so that the session's setting applies
			var store driver.SQLStore
			table := "outbox_messages"
			if status {
				table = "outbox_events"
				store, err = mysqloutbox.New(hasty, mysqloutbox.Config{Status: true})
			} else {
				store, err = mysqloutbox.New(hasty, mysqloutbox.Config{})
			}
			require.NoError(t, err)
			require.NoError(t, store.Migrate(t.Context()))
			lease, err := store.Lease(t.Context(), 0, "me", time.Minute)
			require.NoError(t, err)
			if _, err := hasty.ExecContext(t.Context(), `SET SESSION max_statement_time = 0.2`); err != nil {
				_, err := hasty.ExecContext(t.Context(), `SET SESSION max_execution_time = 200`)
				require.NoError(t, err, "the server knows neither limit")
			}
			conn, err := db.Conn(t.Context())
			require.NoError(t, err)
			defer conn.Close() // and with it the lock
			_, err = conn.ExecContext(t.Context(), "LOCK TABLES "+table+" WRITE")
			require.NoError(t, err)
			if _, err := store.Read(t.Context(), lease, driver.Query{Limit: 10}); !errors.Is(err, driver.ErrSlow) {
				t.Errorf("a read that the server ended returned %v, want ErrSlow", err)
			}
			_, err = conn.ExecContext(t.Context(), "UNLOCK TABLES")
			require.NoError(t, err)
		})
	}
}
