package sqlitebus

import (
	"net/url"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/rawurl"
)

// The URL of a file names that file alone.
func FuzzPath(f *testing.F) {
	f.Add("relative/a.db")
	f.Add("/abs/a b?c#d%e.db")
	f.Add("//h/@x")
	f.Add(".")
	f.Fuzz(func(t *testing.T, path string) {
		if path == "" || path[0] != '/' {
			path = "/" + path
		}
		u, err := rawurl.Parse("sqlite://" + (&url.URL{Path: path}).EscapedPath())
		if err != nil {
			return
		}
		got, err := pathOf(u)
		if err != nil {
			return
		}
		require.Equalf(t, filepath.FromSlash(path), got, "%q is the file %q", path, got)
	})
}
