package sqlitedb

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// No path becomes a parameter of the database, or another path.
func FuzzDSN(f *testing.F) {
	f.Add("a.db")
	f.Add("a?mode=memory")
	f.Add("a#b%zz&_pragma=journal_mode(OFF)")
	f.Add("../x/./y.db")
	f.Add("a\nb")
	f.Fuzz(func(t *testing.T, path string) {
		name, err := dsn(path, url.Values{"_txlock": {"immediate"}})
		if err != nil {
			return
		}
		abs, err := filepath.Abs(path)
		require.NoError(t, err)
		escaped, query, ok := strings.Cut(strings.TrimPrefix(name, "file://"), "?")
		if got, err := url.PathUnescape(escaped); err != nil || got != filepath.ToSlash(abs) || !ok || query != "_txlock=immediate" || strings.Contains(escaped, "#") {
			t.Fatalf("%q is %q: %q, %q", path, name, got, query)
		}
	})
}
