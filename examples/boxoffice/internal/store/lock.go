package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrFolderInUse is returned by LockFolder while another process has the folder.
var ErrFolderInUse = errors.New("store: the data folder is in use by another process")

// FolderLock makes this process the only one on a data folder. The system releases
// the lock when the process ends, in any way.
type FolderLock struct{ file *os.File }

// LockFolder takes the folder, or fails with ErrFolderInUse and names the
// process that has it.
func LockFolder(dir string) (*FolderLock, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("store: lock the data folder: %w", err)
	}
	if err := lockFile(f); err != nil {
		text, _ := os.ReadFile(path) // the holder wrote its id; without it the message is shorter
		_ = f.Close()
		if pid := strings.TrimSpace(string(text)); pid != "" {
			return nil, fmt.Errorf("%w, id %s", ErrFolderInUse, pid)
		}
		return nil, ErrFolderInUse
	}
	if err := errors.Join(f.Truncate(0), writeID(f)); err != nil {
		return nil, errors.Join(fmt.Errorf("store: lock the data folder: %w", err), f.Close())
	}
	return &FolderLock{file: f}, nil
}

func writeID(f *os.File) error {
	_, err := fmt.Fprintf(f, "%d\n", os.Getpid())
	return err
}

// Release gives the folder back.
func (l *FolderLock) Release() error { return l.file.Close() }
