package doctest

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBook makes docs/book.sh book a seat of a box office, and explain why it cannot book it
// twice.
func TestBook(t *testing.T) {
	for _, name := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("needs", name)
		}
	}
	programs(t) // which takes its time where nothing is cached
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	site := serve(t)
	book := func(member string) (string, error) {
		cmd := exec.CommandContext(ctx, "sh", filepath.Join(rootOf(t), "docs", "book.sh"), member, "show-1", "A-1")
		cmd.Env = append(os.Environ(), "SITE="+site)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := book("ann")
	if err != nil || !strings.Contains(out, "payment of 150000: SUCCESS\nseat A-1 of show-1: CONFIRMED\n") {
		t.Errorf("the script says %q (%v)", out, err)
	}
	if out, err := book("bea"); err == nil || !strings.Contains(out, "seat-taken") {
		t.Errorf("of a seat that is taken the script says %q (%v)", out, err)
	}
}

// serve runs a box office on its embedded defaults and returns its address.
func serve(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(programs(t), "boxoffice"))
	cmd.Env = append(os.Environ(), "BOXOFFICE_ADDR=127.0.0.1:0", "BOXOFFICE_DATA_DIR="+t.TempDir())
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "Box office: "); ok {
			t.Cleanup(func() {
				_ = cmd.Process.Signal(os.Interrupt) // it may have ended by itself, which Wait says
				for lines.Scan() {
					continue // or its last words would block it
				}
				assert.NoError(t, cmd.Wait(), "the box office")
			})
			return address
		}
	}
	t.Fatalf("the box office did not say its address: %v", cmd.Wait())
	return ""
}
