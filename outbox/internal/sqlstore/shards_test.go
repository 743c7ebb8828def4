package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/internal/migrate"
)

// failing is a database that refuses every statement.
type failing struct {
	sqllog.Querier
	err error
}

func (f failing) ExecContext(context.Context, string, ...any) (sql.Result, error) { return nil, f.err }

// TestMissingTables checks that each driver's error for a missing table is recognised, and that
// other errors are unchanged.
func TestMissingTables(t *testing.T) {
	for text, missing := range map[string]bool{
		`SQL logic error: no such table: outbox_settings (1)`:                 true,
		`ERROR: relation "outbox_settings" does not exist (SQLSTATE 42P01)`:   true,
		`Error 1146 (42S02): Table 'shop.outbox_settings' doesn't exist`:      true,
		`ERROR: permission denied for table outbox_settings (SQLSTATE 42501)`: false,
		`dial tcp 127.0.0.1:5432: connect: connection refused`:                false,
	} {
		driver := errors.New(text)
		s, err := NewShards(1, migrate.Postgres, "outbox_settings")
		require.NoError(t, err)
		_, stored := s.Store(t.Context(), failing{err: driver})
		for call, err := range map[string]error{"Store": stored, "Ensure": s.Ensure(t.Context(), failing{err: driver})} {
			if !errors.Is(err, driver) || strings.Contains(err.Error(), "Migrate") != missing {
				t.Errorf("%s with %q: %v, want advice: %v", call, text, err, missing)
			}
		}
	}
}
