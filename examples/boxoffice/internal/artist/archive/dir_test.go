package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist/archive"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, root string) *archive.Dir {
	t.Helper()
	d, err := archive.NewDir(root)
	require.NoError(t, err)
	return d
}

// TestStore tests the contract of every Store.
func TestStore(t *testing.T) {
	root := filepath.Join(t.TempDir(), "deep", "archive")
	folder := func() archive.Store { return open(t, root) }
	folder()
	if _, err := os.Stat(root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("NewDir made the folder: %v", err)
	}
	server, s3 := bucket(t, "")
	for name, of := range map[string]func() archive.Store{"Dir": folder, "S3": func() archive.Store { return s3 }} {
		t.Run(name, func(t *testing.T) { keeps(t, of) })
	}
	assert.Empty(t, server.Objects(), "the bucket")
}

// keeps puts, gets and deletes; of opens the store, as another process would.
func keeps(t *testing.T, of func() archive.Store) {
	d := of()
	assert.NoError(t, d.Delete(t.Context(), 1, "7"), "delete what never")
	if _, err := d.Get(t.Context(), 1, "7"); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("get what never was: %v", err)
	}
	for _, text := range []string{"one", "another, longer one", ""} {
		require.NoError(t, d.Put(t.Context(), 1, "7", []byte(text)))
		got, err := of().Get(t.Context(), 1, "7")
		if err != nil || string(got) != text {
			t.Errorf("got %q, %v; want %q", got, err, text)
		}
	}
	if _, err := d.Get(t.Context(), 2, "7"); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("another tier: %v", err)
	}
	for range 2 {
		require.NoError(t, d.Delete(t.Context(), 1, "7"))
	}
	if _, err := d.Get(t.Context(), 1, "7"); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("after it was deleted: %v", err)
	}
}

// A writer that dies leaves the old object, or none; the next Put cleans up.
func TestPutIsAtomic(t *testing.T) {
	root := t.TempDir()
	d := open(t, root)
	require.NoError(t, d.Put(t.Context(), 1, "7", []byte("old")))
	var file string
	find(t, root, func(path string) { file = path })
	// The files of a killed writer: half of the new object beside the old.
	require.NoError(t, os.WriteFile(file+".tmp", []byte("hal"), 0o600))
	if got, err := d.Get(t.Context(), 1, "7"); err != nil || string(got) != "old" {
		t.Errorf("got %q, %v", got, err)
	}
	require.NoError(t, d.Put(t.Context(), 1, "7", []byte("new")))
	n := 0
	find(t, root, func(string) { n++ })
	if got, err := d.Get(t.Context(), 1, "7"); err != nil || !bytes.Equal(got, []byte("new")) || n != 1 {
		t.Errorf("got %q, %v, in %d files", got, err, n)
	}
	// A failed write leaves no temporary file, and the old object.
	require.NoError(t, os.Mkdir(file+".tmp", 0o700))
	assert.Error(t, d.Put(t.Context(), 1, "7", []byte("newer")), "it was written into a folder")
	if got, err := d.Get(t.Context(), 1, "7"); err != nil || string(got) != "new" {
		t.Errorf("after a failure: %q, %v", got, err)
	}
}

func TestNames(t *testing.T) {
	root := t.TempDir()
	d := open(t, root)
	ids := []string{"a", "A", "..", "../../x", "a/b", strings.Repeat("z", 64), "한"}
	for _, id := range ids {
		require.NoError(t, d.Put(t.Context(), 1, id, []byte(id)))
	}
	names := map[string]bool{}
	find(t, root, func(path string) { names[strings.ToLower(filepath.Base(path))] = true })
	assert.Lenf(t, names, len(ids), "%d files for %d ids", len(names), len(ids))
	for _, id := range ids {
		if got, err := d.Get(t.Context(), 1, id); err != nil || string(got) != id {
			t.Errorf("%q: %q, %v", id, got, err)
		}
	}
}

func find(t *testing.T, root string, each func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			each(path)
		}
		return err
	})
	require.NoError(t, err)
}

func TestNewDir(t *testing.T) {
	if _, err := archive.NewDir(""); err == nil {
		t.Error("an archive without a folder was made")
	}
}

func ExampleNewDir() {
	root, err := os.MkdirTemp("", "archive-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	d, err := archive.NewDir(root)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	if err := d.Put(ctx, 1, "42", []byte("a snapshot")); err != nil {
		panic(err)
	}
	data, err := d.Get(ctx, 1, "42")
	fmt.Println(string(data), err)
	// Output: a snapshot <nil>
}
