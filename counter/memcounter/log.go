package memcounter

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/millrace-go/millrace/counter/driver"
)

type log struct {
	mu      sync.Mutex
	first   int // how many were trimmed
	changes []change
}

type change struct {
	driver.Change
	at time.Time
}

// NewLog makes an empty log.
func NewLog() driver.MemoryLog { return &log{} }

// Append implements [driver.MemoryLog].
func (l *log) Append(changes ...driver.Change) error {
	for _, c := range changes {
		if err := driver.CheckChange(c.Key, c.N); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range changes {
		l.changes = append(l.changes, change{c, time.Now()})
	}
	return nil
}

// index returns the number of changes before a position.
func index(position string) (int, error) {
	if position == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(position)
	if err != nil {
		return 0, fmt.Errorf("memcounter: %.40q is no position", position)
	}
	return n, nil
}

// Read implements [driver.Source].
func (l *log) Read(ctx context.Context, after string, limit int) ([]driver.Change, string, error) {
	if err := ctx.Err(); err != nil {
		return nil, after, err
	}
	from, err := index(after)
	if err != nil {
		return nil, after, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	from = max(from, l.first)
	to := min(from+limit, l.first+len(l.changes))
	var out []driver.Change
	for _, c := range l.changes[from-l.first : to-l.first] {
		out = append(out, c.Change)
	}
	if len(out) == 0 {
		return nil, after, nil
	}
	return out, strconv.Itoa(to), nil
}

// Trim implements [driver.Trimmer].
func (l *log) Trim(ctx context.Context, applied string, age time.Duration, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	to, err := index(applied)
	if err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < min(limit, to-l.first, len(l.changes)) && time.Since(l.changes[n].at) >= age {
		n++
	}
	l.first, l.changes = l.first+n, slices.Clone(l.changes[n:])
	return n, nil
}
