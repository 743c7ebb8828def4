package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A crash cuts the file anywhere. What is charged after it is known after the next start,
// as is what was answered before.
func TestProviderAfterACrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "charges")
	charge := func(key string) (known int) {
		t.Helper()
		p, err := openProvider(path)
		require.NoError(t, err)
		defer p.Close()
		known = len(p.charges)
		require.NoError(t, p.Charge(t.Context(), key, "good", 1))
		return known
	}
	charge("one")
	first, err := os.Stat(path)
	require.NoError(t, err)
	charge("two")
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for cut := int(first.Size()); cut <= len(whole); cut++ {
		require.NoError(t, os.WriteFile(path, whole[:cut], 0o600))
		known := charge("three")
		require.GreaterOrEqual(t, known, 1, "cut at %d", cut)
		require.Equal(t, known+1, charge("three"), "cut at %d", cut)
	}
}

// A damaged line hides no charge behind it: that card would be charged twice.
func TestProviderIsDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "charges")
	damaged := []byte("{\"Key\":\"o{\"Key\":\"two\"}\n{\"Key\":\"three\"}\n")
	require.NoError(t, os.WriteFile(path, damaged, 0o600))
	_, err := openProvider(path)
	require.ErrorContains(t, err, "after byte 0")
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, damaged, kept)
}
