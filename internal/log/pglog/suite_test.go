package pglog

import (
	"database/sql"
	"testing"

	"github.com/millrace-go/millrace/internal/log/logtest"
	"github.com/millrace-go/millrace/internal/log/sqllog"
)

func TestSuite(t *testing.T) {
	logtest.Run(t, func(t testing.TB, tables sqllog.Tables) (sqllog.Log, *sql.DB) { return openWith(t, tables) })
}
