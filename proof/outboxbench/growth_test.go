package outboxbench

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/proof/report"
)

// Each drain publishes the whole backlog, which the harness counts.
func TestRunGrowth(t *testing.T) {
	cfg := Growth{URL: postgres(t), Rows: []int{300, 2500}, Shards: []int{1, 3}, Rounds: 2, Prefix: tiny().Prefix}
	var out bytes.Buffer
	rec := report.To(&out)
	if err := RunGrowth(t.Context(), cfg, rec); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	s := rec.Section()
	if len(s.Figures) != 6 || len(s.Claims) != 4 {
		t.Fatalf("%d figures, %d claims\n%s", len(s.Figures), len(s.Claims), &out)
	}
	for _, f := range s.Figures {
		if len(f.Rounds) != 2 || f.Min <= 0 || (f.Role == report.Limit) != strings.HasPrefix(f.Name, "limit: ") {
			t.Errorf("%+v", f)
		}
	}
	at, err := place.Postgres(cfg.URL, "public")
	require.NoError(t, err)
	db, err := at.Open()
	require.NoError(t, err)
	defer db.Close() //nolint:errcheck // ends with the test
	var left int
	if err := db.QueryRow(`SELECT count(*) FROM pg_namespace WHERE nspname LIKE $1`, cfg.Prefix+"%").Scan(&left); err != nil || left > 0 {
		t.Errorf("%d schemas are left (%v)", left, err)
	}
}
