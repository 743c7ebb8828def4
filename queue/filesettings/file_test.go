package filesettings_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/filesettings"
	"github.com/millrace-go/millrace/queue/queuetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, path string) queue.Settings {
	t.Helper()
	f, err := filesettings.Open(path)
	require.NoError(t, err)
	return f
}

func TestSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	require.NoError(t, queuetest.CheckSettings(t.Context(), open(t, path)))

	first := open(t, path)
	require.NoError(t, first.Save(t.Context(), "kept", queue.Setting{Version: 1, Paused: true, By: "kim"}))
	s, err := open(t, path).Load(t.Context(), "kept")
	require.NoError(t, err)
	require.Equal(t, queue.Setting{Version: 1, Paused: true, By: "kim"}, s)
}

// TestProcessesShareAFile: each change of one is kept, or refused with ErrConflict.
func TestProcessesShareAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	const processes, changes = 4, 25
	var all sync.WaitGroup
	for range processes {
		f := open(t, path)
		all.Go(func() {
			for n := 0; n < changes; {
				s, err := f.Load(t.Context(), "sale")
				if err != nil {
					t.Error(err)
					return
				}
				s.Version++
				switch err := f.Save(t.Context(), "sale", s); {
				case err == nil:
					n++
				case !errors.Is(err, queue.ErrConflict):
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	s, err := open(t, path).Load(t.Context(), "sale")
	require.NoError(t, err)
	require.EqualValues(t, processes*changes, s.Version)
}

// TestTheFileIsWhole: a change that cannot be written leaves the file as it was.
func TestTheFileIsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	f := open(t, path)
	require.NoError(t, f.Save(t.Context(), "sale", queue.Setting{Version: 1}))
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(path+".next", 0o700)) // nothing can be written beside the file
	err = f.Save(t.Context(), "sale", queue.Setting{Version: 2})
	require.Error(t, err)
	require.Equal(t, fault.Infrastructure, fault.Of(err))
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

func TestOpenRefuses(t *testing.T) {
	folder := t.TempDir()
	_, err := filesettings.Open(filepath.Join(folder, "none", "settings.json"))
	require.ErrorIs(t, err, os.ErrNotExist)
	for i, text := range []string{"", "{", "null", "[]", `{"sale": {"paused": "yes"}}`, `{"sale": {"pause": true}}`} {
		path := filepath.Join(folder, fmt.Sprint(i))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := filesettings.Open(path)
		require.ErrorContains(t, err, "restore it from a copy", text)
		left, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(left))
	}
}

// TestAFileThatIsGone does not say that nothing was set.
func TestAFileThatIsGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	f := open(t, path)
	require.NoError(t, os.Remove(path))
	_, err := f.Load(t.Context(), "sale")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Equal(t, fault.Infrastructure, fault.Of(err))
	err = f.Save(t.Context(), "sale", queue.Setting{Version: 1})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.True(t, strings.HasPrefix(err.Error(), "filesettings: save: "))
}
