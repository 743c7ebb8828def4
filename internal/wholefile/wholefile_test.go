package wholefile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/wholefile"
)

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, s)
			return err
		}
	}
	is := func(want string) {
		t.Helper()
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
		require.NoFileExists(t, path+".next")
	}
	require.NoError(t, wholefile.Replace(path, text("a long text")))
	is("a long text")
	require.NoError(t, wholefile.Replace(path, text("short")))
	is("short")
	full := errors.New("the disk is full")
	require.ErrorIs(t, wholefile.Replace(path, func(w io.Writer) error {
		return errors.Join(text("half")(w), full)
	}), full)
	is("short")
	require.ErrorIs(t, wholefile.Replace(filepath.Join(t.TempDir(), "absent", "file"), text("")), os.ErrNotExist)
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	first, err := wholefile.Lock(path, false)
	require.NoError(t, err)
	_, err = wholefile.Lock(path, false)
	require.ErrorContains(t, err, path+".lock")
	waiting := make(chan error)
	go func() {
		second, err := wholefile.Lock(path, true)
		if err == nil {
			err = second.Close()
		}
		waiting <- err
	}()
	require.NoError(t, first.Close())
	require.NoError(t, <-waiting)
}
