package cli

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// changing lists the parts that differ from run to run.
var changing = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "00000000-0000-0000-0000-000000000000"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)`), `2026-01-01T00:00:00Z`},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`), "2026-01-01 00:00:00"},
	{regexp.MustCompile(`"worker": "[^"]+"`), `"worker": "somewhere"`},
	{regexp.MustCompile(`"dlq_worker": "[^"]+"`), `"dlq_worker": "somewhere"`},
	{regexp.MustCompile(`read with [0-9.]+`), "read with 3.0.0"},
}

// Golden compares output with a file in testdata, except times and ids. go test -update
// writes the file.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	for _, c := range changing {
		got = c.pattern.ReplaceAllString(got, c.instead)
	}
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equalf(t, string(want), got, "%s has changed, and programs may read it; if that is meant: go test -update\n%s\nwant\n%s", path, got, want)
}
