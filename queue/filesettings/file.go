package filesettings

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/wholefile"
	"github.com/millrace-go/millrace/queue"
)

// file holds the settings. Its methods are safe for concurrent use.
type file struct {
	path string
	mu   sync.Mutex
}

// Open opens the file, and makes one without settings where there is none. Its folder
// must exist, and the process must be able to write to it. The
// methods of what Open returns are safe for concurrent use.
func Open(path string) (queue.Settings, error) {
	f := &file{path: path}
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
func (f *file) Load(ctx context.Context, event string) (queue.Setting, error) {
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
func (f *file) Save(ctx context.Context, event string, s queue.Setting) error {
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
func (f *file) locked(do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	lock, err := wholefile.Lock(f.path, true)
	if errors.Is(err, errors.ErrUnsupported) {
		return do() // there is one process for each file, as the package says
	}
	if err != nil {
		return err
	}
	return errors.Join(do(), lock.Close())
}

func (f *file) read() (map[string]queue.Setting, error) {
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

func (f *file) replace(all map[string]queue.Setting) error {
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return wholefile.Replace(f.path, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}
