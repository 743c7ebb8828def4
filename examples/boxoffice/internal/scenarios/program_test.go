package scenarios

import (
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
)

// builds makes the binary that users run, once for all scenarios.
type builds struct {
	mu   sync.Mutex
	dir  string
	path string
}

// program is the one of this package's tests; TestMain removes it.
var program builds

func (b *builds) boxoffice(t testing.TB) string {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.path != "" {
		return b.path
	}
	dir, err := os.MkdirTemp("", "boxoffice-scenarios-")
	require.NoError(t, err)
	b.dir = dir
	if b.path, err = launch.Build(t.Context(), dir, launch.Boxoffice); err != nil {
		t.Fatal(err)
	}
	return b.path
}

func (b *builds) remove() error {
	if b.dir == "" {
		return nil
	}
	return os.RemoveAll(b.dir)
}
