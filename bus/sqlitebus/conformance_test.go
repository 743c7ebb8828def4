package sqlitebus_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/bustest"
	"github.com/millrace-go/millrace/bus/sqlitebus"
)

// Every bus opens pools of its own, so two buses on one file are like two processes.
func TestConformance(t *testing.T) {
	scheme := sqlitebus.Scheme(sqlitebus.Config{})
	files := map[*bus.Bus]string{}
	openFile := func(t *testing.T, path string) *bus.Bus {
		b, err := bus.Open(t.Context(), "sqlite://"+path+"?synchronous=normal", scheme)
		require.NoError(t, err)
		files[b] = path
		return b
	}
	opts := []bustest.Option{
		bustest.Again(func(t *testing.T, b *bus.Bus) *bus.Bus { return openFile(t, files[b]) }),
		bustest.URL("sqlite://"+filepath.Join(t.TempDir(), "url.db"), scheme),
	}
	if raceDetector {
		opts = append(opts, bustest.Quick())
	}
	bustest.Run(t, func(t *testing.T) *bus.Bus { return openFile(t, filepath.Join(t.TempDir(), "bus.db")) }, opts...)
}
