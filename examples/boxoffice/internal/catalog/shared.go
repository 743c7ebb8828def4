package catalog

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
)

// Copies keeps a copy of the shows that all processes read.
type Copies interface {
	// Get returns the copy, nil when there is none, and the last eviction.
	Get(ctx context.Context) (copied []byte, eviction string, err error)
	// Put keeps a copy, unless one was evicted after that eviction.
	Put(ctx context.Context, eviction string, copied []byte) error
	// Evict deletes the copy, and refuses copies that were read before.
	Evict(ctx context.Context) error
}

const (
	// copyTimeout bounds a call for the copy: the database answers in that time.
	copyTimeout = 100 * time.Millisecond
	// copyPause is how long the copies are not used after a failure.
	copyPause = time.Second
)

// shared is the copy as this process uses it: after a failure the database is read.
type shared struct {
	copies Copies
	log    *slog.Logger

	changes atomic.Uint64 // of this process
	evicted atomic.Uint64 // the changes that the last eviction knew of
	due     signal.Signal // has something when an eviction is
	until   atomic.Int64  // when the copies may be asked again, in ns since 1970
	failing atomic.Bool
}

// SetCopies makes the processes share their reads of the shows. It is called before
// the first read; [Listing.Run] then has to run.
func (l *Listing) SetCopies(copies Copies, log *slog.Logger) {
	l.shared = &shared{copies: copies, log: log, due: signal.New()}
}

// Run evicts the shared copy after the changes of this process, until ctx ends.
func (l *Listing) Run(ctx context.Context) error {
	s := l.shared
	if s == nil {
		<-ctx.Done()
		return nil
	}
	s.due.Repeat(ctx, func(ctx context.Context) time.Duration {
		if !s.evict(ctx) {
			_ = kit.Sleep(ctx, copyPause) // it ends early with ctx, as does the loop
			return 0
		}
		_ = kit.Sleep(ctx, minGap) // of a crowd's changes only some are told, and the last one
		return signal.Never
	})
	s.evict(context.WithoutCancel(ctx)) // of the last changes; a copy that stays ends by itself
	return nil
}

// changed has the copy evicted. Until that is done this process reads the database.
func (s *shared) changed() {
	s.changes.Add(1)
	s.due.Wake()
}

// evict reports whether all of this process's changes are evicted.
func (s *shared) evict(ctx context.Context) bool {
	known := s.changes.Load()
	if s.evicted.Load() == known {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, copyPause)
	defer cancel()
	if err := s.copies.Evict(ctx); err != nil {
		s.failed(err)
		return false
	}
	s.evicted.Store(known)
	s.worked()
	return true
}

// load returns the copy, or else the result of read, which becomes the copy.
func (s *shared) load(ctx context.Context, read func(context.Context) ([]Show, error)) ([]Show, error) {
	if s.evicted.Load() != s.changes.Load() || time.Now().UnixNano() < s.until.Load() {
		return read(ctx)
	}
	asked, cancel := context.WithTimeout(ctx, copyTimeout)
	text, eviction, err := s.copies.Get(asked)
	cancel()
	if err != nil {
		s.failed(err)
		return read(ctx)
	}
	s.worked()
	var shows []Show
	if text != nil && json.Unmarshal(text, &shows) == nil {
		return shows, nil
	}
	if shows, err = read(ctx); err != nil {
		return nil, err
	}
	if text, err = json.Marshal(shows); err == nil {
		asked, cancel := context.WithTimeout(ctx, copyTimeout)
		defer cancel()
		if err := s.copies.Put(asked, eviction, text); err != nil {
			s.failed(err)
		}
	}
	return shows, nil
}

func (s *shared) failed(err error) {
	s.until.Store(time.Now().Add(copyPause).UnixNano())
	if s.failing.CompareAndSwap(false, true) {
		s.log.Warn("the shared copy of the shows can't be used; they are read from the database", "error", err)
	}
}

func (s *shared) worked() {
	if s.failing.CompareAndSwap(true, false) {
		s.log.Info("the shared copy of the shows is used again")
	}
}
