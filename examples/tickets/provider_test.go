package main

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
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

// A disk that is full in the middle of a line loses no charge from before or after. A process of
// its own has the limit of its files for a full disk.
func TestProviderOnAFullDisk(t *testing.T) {
	if path := os.Getenv("TICKETS_FULL_DISK"); path != "" {
		p, err := openProvider(path)
		require.NoError(t, err)
		require.NoError(t, p.Charge(t.Context(), "one", "good", 1))
		signal.Ignore(syscall.SIGXFSZ)
		var was syscall.Rlimit
		require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was))
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(p.size) + 10, Max: was.Max}))
		require.ErrorIs(t, p.Charge(t.Context(), "two", "good", 1), syscall.EFBIG)
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was))
		require.NoError(t, p.Charge(t.Context(), "three", "good", 1))
		require.NoError(t, p.Close())
		return
	}
	path := filepath.Join(t.TempDir(), "charges")
	full := exec.Command(os.Args[0], "-test.run=^TestProviderOnAFullDisk$")
	full.Env = append(os.Environ(), "TICKETS_FULL_DISK="+path)
	out, err := full.CombinedOutput()
	require.NoError(t, err, "%s", out)
	p, err := openProvider(path)
	require.NoError(t, err)
	defer p.Close()
	require.Len(t, p.charges, 2)
	require.Contains(t, p.charges, "one")
	require.Contains(t, p.charges, "three")
}
