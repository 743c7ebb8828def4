package filesettings

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue"
)

// File is a [queue.Settings]. Its methods are safe for concurrent use.
type File struct {
	path string
	mu   sync.Mutex
}

var _ queue.Settings = (*File)(nil)

// Open opens the file, and makes one without settings where there is none. Its folder
// must exist, and File must be able to write to it.
func Open(path string) (*File, error) {
	f := &File{path: path}
	err := f.locked(func() error {
		all, err := f.read()
		if errors.Is(err, fs.ErrNotExist) {
			return f.replace(map[string]queue.Setting{})
		}
		if err == nil {
			err = f.replace(all) // finds a folder that cannot be written to
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("filesettings: open: %w", err)
	}
	return f, nil
}

// Load returns the setting of an event; see [queue.Settings].
func (f *File) Load(ctx context.Context, event string) (queue.Setting, error) {
	if err := ctx.Err(); err != nil {
		return queue.Setting{}, fmt.Errorf("filesettings: load: %w", err)
	}
	all, err := f.read()
	if err != nil {
		return queue.Setting{}, fmt.Errorf("filesettings: load: %w", fault.MarkInfrastructure(err))
	}
	return all[event], nil
}

// Save keeps a setting; see [queue.Settings].
func (f *File) Save(ctx context.Context, event string, s queue.Setting) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("filesettings: save: %w", err)
	}
	err := f.locked(func() error {
		all, err := f.read()
		if err != nil {
			return err
		}
		if all[event].Version != s.Version-1 {
			return queue.ErrConflict
		}
		all[event] = s
		return f.replace(all)
	})
	switch {
	case errors.Is(err, queue.ErrConflict):
		return fmt.Errorf("filesettings: save version %d of %s: %w", s.Version, event, err)
	case err != nil:
		return fmt.Errorf("filesettings: save: %w", fault.MarkInfrastructure(err))
	}
	return nil
}

// locked keeps other processes from writing.
func (f *File) locked(do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	lock, err := os.OpenFile(f.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := lockFile(lock); err != nil {
		return errors.Join(fmt.Errorf("lock %s: %w", lock.Name(), err), lock.Close())
	}
	return errors.Join(do(), lock.Close())
}

func (f *File) read() (map[string]queue.Setting, error) {
	text, err := os.ReadFile(f.path)
	if err != nil {
		return nil, err
	}
	all := map[string]queue.Setting{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil || all == nil {
		return nil, fmt.Errorf("%s is not a file of settings; restore it from a copy, or remove it to begin without settings: %w", f.path, err)
	}
	return all, nil
}

// replace writes the settings beside the file, waits for the disk, and takes the
// file's place.
func (f *File) replace(all map[string]queue.Setting) error {
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	next := f.path + ".next"
	file, err := os.OpenFile(next, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(next)) // a full disk needs the space
	}
	if err := os.Rename(next, f.path); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(f.path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
