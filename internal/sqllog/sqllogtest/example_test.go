package sqllogtest_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/sqllog"
	"github.com/millrace-go/millrace/internal/sqllog/sqllogtest"
)

// A backend's test hands the suite a way to open a fresh log. Run turns the
// cases into subtests.
func TestOwnBackend(t *testing.T) {
	sqllogtest.Run(t, func(t testing.TB, tables sqllog.Tables) (sqllog.Log, *sql.DB) {
		return open(t)
	})
}

// A case can also be run by hand, for instance against a backend that is meant
// to fail.
func TestOneCase(t *testing.T) {
	log, db := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := check(t, "Order")(ctx, &sqllogtest.Fixture{Log: log, DB: db}); err != nil {
		t.Error(err)
	}
}
