package pglog

import (
	"database/sql"
	"testing"

	"github.com/millrace-go/millrace/internal/sqllog"
	"github.com/millrace-go/millrace/internal/sqllog/backend"
	"github.com/millrace-go/millrace/internal/sqllog/sqllogtest"
)

func TestSuite(t *testing.T) {
	sqllogtest.Run(t, func(t testing.TB, tables sqllog.Tables) (backend.Log, *sql.DB) { return openWith(t, tables) })
}
