package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/internal/wholefile"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/memqueue"
)

// saveEvery is how often a room in memory is saved while visitors wait or are inside.
const saveEvery = 5 * time.Second

// stateFile keeps the rooms in memory over restarts. The file is replaced as a whole, so
// that it is complete at any moment.
type stateFile struct {
	store  driver.MemoryStore
	path   string
	lock   *os.File
	logger *slog.Logger

	failed  atomic.Int64
	problem atomic.Pointer[error] // of the last save; nil when it worked
}

// openState restores the rooms, and saves them at once: their epoch then outlives the
// first visitors, and a folder that cannot be written to is found before them.
func openState(path string, logger *slog.Logger) (*stateFile, error) {
	store, err := memqueue.New(memqueue.Config{})
	if err != nil {
		return nil, err
	}
	lock, err := wholefile.Lock(path, false)
	var failed *fs.PathError
	switch {
	case errors.As(err, &failed) && failed.Op == "lock":
		return nil, fmt.Errorf("--state: another gate has %s (%w); end it, or give each gate a file of its own", path, err)
	case err != nil:
		return nil, fmt.Errorf("--state: %w; name a file in a folder that the gate may write to", err)
	}
	f := &stateFile{store: store, path: path, lock: lock, logger: logger}
	if err := f.restore(); err != nil {
		return nil, errors.Join(fmt.Errorf("--state: %s: %w", path, err), lock.Close())
	}
	if err := f.save(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return f, nil
}

func (f *stateFile) restore() error {
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.store.Restore(file), file.Close())
}

func (f *stateFile) save() error {
	if err := wholefile.Replace(f.path, f.store.Save); err != nil {
		err = fmt.Errorf("--state: save the room: %w", err)
		f.failed.Add(1)
		f.problem.Store(&err)
		return err
	}
	f.problem.Store(nil)
	return nil
}

// run saves the rooms at each tick, while visitors have places or when something has
// changed since the last time. Serving goes on when it fails.
func (f *stateFile) run(ctx context.Context, ticks <-chan time.Time, look func(context.Context) (queue.State, error)) {
	var last queue.State
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
		state, err := look(ctx)
		if err != nil {
			continue // ctx has ended
		}
		// These change by themselves.
		state.Now, state.Rate, state.Stays, state.Settling = time.Time{}, driver.Rate{}, nil, 0
		if state == last && state.Waiting+state.Active == 0 {
			continue
		}
		if err := f.save(); err != nil {
			f.logger.Error("the gate goes on, and a restart would lose places", slog.String("error", err.Error()))
			continue
		}
		last = state
	}
}

// close saves the rooms a last time, and lets another gate have the file.
func (f *stateFile) close() error { return errors.Join(f.save(), f.lock.Close()) }

// trouble is why the rooms were not saved the last time.
func (f *stateFile) trouble() error {
	if f == nil {
		return nil
	}
	if err := f.problem.Load(); err != nil {
		return *err
	}
	return nil
}
