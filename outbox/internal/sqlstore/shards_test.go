package sqlstore

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/sqltx"
)

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
		fails := func(context.Context, sqltx.Execer, string, string) (int64, error) { return 0, driver }
		s, err := NewShards(1, "Config.Shards", "outbox_settings")
		if err != nil {
			t.Fatal(err)
		}
		s.Put, s.Check = fails, fails
		_, stored := s.Store(t.Context(), nil)
		for call, err := range map[string]error{"Store": stored, "Ensure": s.Ensure(t.Context(), nil)} {
			if !errors.Is(err, driver) || strings.Contains(err.Error(), "Migrate") != missing {
				t.Errorf("%s with %q: %v, want advice: %v", call, text, err, missing)
			}
		}
	}
}
