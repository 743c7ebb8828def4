package memcoalesce

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/millrace-go/millrace/coalesce/driver"
)

type store struct {
	mu    sync.Mutex
	keys  map[string]*entry
	last  int64 // the highest version of all
	sweep int   // how many keys there may be before expired ones are dropped
}

// entry is a key. Values behind their deadline count as absent.
type entry struct {
	priority  driver.Priority
	held      int64 // the version of the lock
	until     time.Time
	again     driver.Priority // "" when no next run was requested
	version   int64
	forgotten time.Time // when the version expires
}

const smallest = 1024

// New returns an empty store.
func New() driver.MemoryStore {
	return &store{keys: map[string]*entry{}, sweep: smallest}
}

// Request decides; see [driver.Store].
func (s *store) Request(ctx context.Context, key string, p driver.Priority, again bool, ttl driver.TTLs) (driver.Decision, error) {
	if err := begin(ctx, "request", key, driver.Check(key, p)); err != nil {
		return driver.Decision{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	e := s.at(key, now)
	d := driver.Decision{Outcome: driver.Published}
	if e.until.After(now) {
		if p == driver.Low || e.priority == driver.High {
			if again && e.again != driver.High {
				e.again = p
			}
			return driver.Decision{Outcome: driver.AlreadyProcessing, Ticket: e.ticket(key)}, nil
		}
		d.Outcome = driver.Upgraded
	} else {
		e.again = ""
	}
	s.take(e, p, ttl, now)
	d.Ticket = e.ticket(key)
	return d, nil
}

// Release deletes the ticket's lock.
func (s *store) Release(ctx context.Context, t driver.Ticket) (released bool, err error) {
	err = s.holding(ctx, "release", t, func(e *entry, _ time.Time) {
		released, e.until = true, time.Time{}
	})
	return released, err
}

// Done ends the ticket's run, and begins the next one if it was requested.
func (s *store) Done(ctx context.Context, t driver.Ticket, ttl driver.TTLs) (end driver.End, err error) {
	err = s.holding(ctx, "end the run of", t, func(e *entry, now time.Time) {
		if end.Released = true; e.again == "" {
			e.until = time.Time{}
			return
		}
		p := e.again
		e.again = ""
		s.take(e, p, ttl, now)
		end.Again, end.Next = true, e.ticket(t.Key)
	})
	return end, err
}

// Extend restarts the TTLs.
func (s *store) Extend(ctx context.Context, t driver.Ticket, ttl driver.TTLs) (extended bool, err error) {
	err = s.holding(ctx, "extend", t, func(e *entry, now time.Time) {
		extended = true
		e.until, e.version, e.forgotten = now.Add(ttl.Of(t.Priority)), t.Version, now.Add(ttl.Version)
	})
	return extended, err
}

// Current returns the newest version.
func (s *store) Current(ctx context.Context, key string) (version int64, known bool, err error) {
	if err := begin(ctx, "look up the version of", key, driver.CheckKey(key)); err != nil {
		return 0, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.keys[key]; e != nil && e.forgotten.After(time.Now()) {
		return e.version, true, nil
	}
	return 0, false, nil
}

// Backdate implements [driver.MemoryStore].
func (s *store) Backdate(_ context.Context, key string, by time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.keys[key]; e != nil {
		e.until, e.forgotten = e.until.Add(-by), e.forgotten.Add(-by)
	}
	return nil
}

// Lose implements [driver.MemoryStore].
func (s *store) Lose(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys, key)
	return nil
}

func begin(ctx context.Context, what, key string, err error) error {
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memcoalesce: %s %q: %w", what, key, err)
	}
	return nil
}

// holding calls f if the ticket holds its lock.
func (s *store) holding(ctx context.Context, what string, t driver.Ticket, f func(e *entry, now time.Time)) error {
	if err := begin(ctx, what, t.Key, t.Check()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if e := s.keys[t.Key]; e != nil && e.until.After(now) && e.ticket(t.Key) == t {
		f(e, now)
	}
	return nil
}

// at returns the entry of a key, and creates a missing one.
func (s *store) at(key string, now time.Time) *entry {
	if e := s.keys[key]; e != nil {
		return e
	}
	if len(s.keys) >= s.sweep {
		for k, e := range s.keys {
			if !e.until.After(now) && !e.forgotten.After(now) {
				delete(s.keys, k)
			}
		}
		s.sweep = max(smallest, 2*len(s.keys))
	}
	e := &entry{}
	s.keys[key] = e
	return e
}

// take gives the lock to a new version.
func (s *store) take(e *entry, p driver.Priority, ttl driver.TTLs, now time.Time) {
	s.last = max(s.last+1, now.UnixMicro())
	e.priority, e.held, e.until = p, s.last, now.Add(ttl.Of(p))
	e.version, e.forgotten = s.last, now.Add(ttl.Version)
}

func (e *entry) ticket(key string) driver.Ticket {
	return driver.Ticket{Key: key, Priority: e.priority, Version: e.held}
}
