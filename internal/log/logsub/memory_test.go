package logsub_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logsub"
)

// memory is a database for tests in a synctest bubble: its clock is the bubble's, its calls take
// no time, and it can be cut off from one instance.
type memory struct {
	mu      sync.Mutex
	lastID  int64
	entries []log.Entry
	cursors map[log.Cursor]cursorRow
	topics  []logsub.Topic
	members []memberRow
	starts  map[log.Cursor]logsub.Start

	commits  int                            // transactions that committed
	writes   int                            // of cursors: transactions, and statements on their own
	advances map[log.Cursor][]time.Duration // when cursors were written
	start    time.Time
	leased   int  // taken outside a transaction
	together bool // leases are taken in one transaction
	apart    bool // Backend.TopicsApart; there are no transactions
}

type cursorRow struct {
	last   int64
	holder string
	token  int64
	until  time.Time
}

type memberRow struct {
	logsub.Member
	until time.Time
}

func newMemory() *memory {
	return &memory{cursors: map[log.Cursor]cursorRow{}, advances: map[log.Cursor][]time.Duration{}, starts: map[log.Cursor]logsub.Start{}, start: time.Now()}
}

// link is one instance's connection to the memory.
type link struct {
	*memory
	cut    atomic.Bool                           // every call fails
	fail   atomic.Pointer[func(string) error]    // called before every call
	refuse atomic.Pointer[func(id string) error] // called for every appended message
}

var errCut = errors.New("the database is away")

func (m *memory) connect() *link { return &link{memory: m} }

func (l *link) backend() logsub.Backend {
	return logsub.Backend{Log: l, Directory: directory{l}, Append: l.append, Begin: l.begin, LeasesTogether: l.together, TopicsApart: l.apart}
}

type inTx struct{}

func (l *link) enter(ctx context.Context, op string) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if l.cut.Load() {
		return nil, errCut
	}
	if f := l.fail.Load(); f != nil {
		if err := cmp.Or((*f)(op), ctx.Err()); err != nil {
			return nil, err
		}
	}
	if ctx.Value(inTx{}) != nil {
		return func() {}, nil
	}
	l.mu.Lock()
	return l.mu.Unlock, nil
}

func (l *link) begin(ctx context.Context, fn func(context.Context) error) error {
	leave, err := l.enter(ctx, "begin")
	if err != nil {
		return err
	}
	if l.apart { // without transactions
		leave()
		return fn(ctx)
	}
	defer leave()
	entries, cursors, id := slices.Clone(l.entries), maps.Clone(l.cursors), l.lastID
	if err := fn(context.WithValue(ctx, inTx{}, true)); err != nil {
		l.entries, l.cursors, l.lastID = entries, cursors, id
		return err
	}
	l.commits++
	l.writes++
	return nil
}

func (l *link) append(ctx context.Context, entries []log.Entry) error {
	return l.begin(ctx, func(ctx context.Context) error { return l.add(ctx, entries) })
}

func (l *link) add(ctx context.Context, entries []log.Entry) error {
	leave, err := l.enter(ctx, "append")
	if err != nil {
		return err
	}
	defer leave()
	for _, e := range entries {
		if f := l.refuse.Load(); f != nil {
			if err := (*f)(e.MessageID); err != nil {
				return err
			}
		}
		l.lastID++
		e.ID, e.Position, e.CreatedAt = l.lastID, log.Position{ID: l.lastID}, time.Now()
		l.entries = append(l.entries, e)
	}
	return nil
}

func (l *link) Lease(ctx context.Context, c log.Cursor, holder string, ttl time.Duration) (log.Lease, error) {
	leave, err := l.enter(ctx, fmt.Sprint("lease ", c.Lane))
	if err != nil {
		return log.Lease{}, err
	}
	defer leave()
	if ctx.Value(inTx{}) == nil {
		l.leased++
	}
	row := l.cursors[c]
	if row.holder != holder && row.until.After(time.Now()) {
		return log.Lease{}, log.ErrLeaseHeld
	}
	row.holder, row.token, row.until = holder, row.token+1, time.Now().Add(ttl)
	l.cursors[c] = row
	return log.Lease{Cursor: c, Holder: holder, Token: row.token, Position: log.Position{ID: row.last}}, nil
}

func (l *link) Renew(ctx context.Context, ttl time.Duration, leases ...log.Lease) error {
	for _, lease := range leases {
		if err := l.change(ctx, fmt.Sprint("advance ", lease.Lane), lease, func(row *cursorRow) { row.until = time.Now().Add(ttl) }); err != nil {
			return err
		}
	}
	return nil
}

func (l *link) Release(ctx context.Context, lease log.Lease) error {
	err := l.change(ctx, "release", lease, func(row *cursorRow) { row.holder, row.until = "", time.Time{} })
	if errors.Is(err, log.ErrLeaseLost) {
		return nil
	}
	return err
}

func (l *link) Advance(ctx context.Context, lease log.Lease, p log.Position, ttl time.Duration) error {
	return l.change(ctx, fmt.Sprint("advance ", lease.Lane), lease, func(row *cursorRow) {
		if row.last != p.ID {
			l.advances[lease.Cursor] = append(l.advances[lease.Cursor], time.Since(l.start))
		}
		row.last, row.until = p.ID, time.Now().Add(ttl)
	})
}

func (l *link) change(ctx context.Context, op string, lease log.Lease, f func(*cursorRow)) error {
	leave, err := l.enter(ctx, op)
	if err != nil {
		return err
	}
	defer leave()
	row := l.cursors[lease.Cursor]
	if row.token != lease.Token {
		return log.ErrLeaseLost
	}
	if ctx.Value(inTx{}) == nil {
		l.writes++
	}
	f(&row)
	l.cursors[lease.Cursor] = row
	return nil
}

func (l *link) Read(ctx context.Context, lane int, after log.Position, max int) ([]log.Entry, log.Position, error) {
	leave, err := l.enter(ctx, "read")
	if err != nil {
		return nil, after, err
	}
	defer leave()
	var out []log.Entry
	for _, e := range l.entries {
		if e.Lane == lane && e.ID > after.ID && len(out) < max {
			out, after = append(out, e), e.Position
		}
	}
	return out, after, nil
}

func (l *link) Prune(ctx context.Context, lane int, before time.Time, limit int) (int, error) {
	leave, err := l.enter(ctx, fmt.Sprint("prune ", lane))
	if err != nil {
		return 0, err
	}
	defer leave()
	n := 0
	l.entries = slices.DeleteFunc(l.entries, func(e log.Entry) bool {
		if e.Lane != lane || !e.CreatedAt.Before(before) || n == limit {
			return false
		}
		for c, row := range l.cursors {
			if c.Lane == lane && row.last < e.ID {
				return false
			}
		}
		n++
		return true
	})
	return n, nil
}

func (l *link) Backlog(ctx context.Context, c log.Cursor, lanes, limit int) (int, time.Time, error) {
	leave, err := l.enter(ctx, "backlog")
	if err != nil {
		return 0, time.Time{}, err
	}
	defer leave()
	return log.EachBacklog(c, lanes, func(c log.Cursor) (n int, oldest time.Time, err error) {
		for _, e := range l.entries {
			if e.Lane == c.Lane && e.ID > l.cursors[c].last && n < limit {
				if n == 0 {
					oldest = e.CreatedAt
				}
				n++
			}
		}
		return n, oldest, nil
	})
}

// directory gives the memory the methods of logsub.Directory.
type directory struct{ *link }

func (d directory) Ensure(ctx context.Context, want logsub.Topic) (logsub.Topic, error) {
	leave, err := d.enter(ctx, "ensure")
	if err != nil {
		return want, err
	}
	defer leave()
	for i, t := range d.topics {
		want.FirstLane = t.FirstLane + t.Partitions
		if t.Name == want.Name {
			if want.Retention > 0 {
				d.topics[i].Retention = want.Retention
			}
			return d.topics[i], nil
		}
	}
	d.topics = append(d.topics, want)
	return want, nil
}

func (d directory) Topics(ctx context.Context) ([]logsub.Topic, error) {
	leave, err := d.enter(ctx, "topics")
	if err != nil {
		return nil, err
	}
	defer leave()
	return slices.Clone(d.topics), nil
}

func (d directory) Groups(ctx context.Context, t logsub.Topic) ([]string, error) {
	leave, err := d.enter(ctx, "groups")
	if err != nil {
		return nil, err
	}
	defer leave()
	n := map[string]int{}
	for c := range d.cursors {
		if c.Lane >= t.FirstLane && c.Lane < t.FirstLane+t.Partitions {
			n[c.Consumer]++
		}
	}
	maps.DeleteFunc(n, func(_ string, n int) bool { return n < t.Partitions })
	return slices.Sorted(maps.Keys(n)), nil
}

func (d directory) Beat(ctx context.Context, ttl time.Duration, members []logsub.Member) error {
	leave, err := d.enter(ctx, "beat")
	if err != nil {
		return err
	}
	defer leave()
	d.members = slices.DeleteFunc(d.members, func(m memberRow) bool { return !m.until.After(time.Now()) })
	for _, m := range members {
		i := slices.IndexFunc(d.members, func(r memberRow) bool { return r.Member == m })
		if i < 0 {
			i = len(d.members)
			d.members = append(d.members, memberRow{Member: m})
		}
		d.members[i].until = time.Now().Add(ttl)
	}
	return nil
}

func (d directory) Members(ctx context.Context, topic, group string) ([]string, error) {
	leave, err := d.enter(ctx, "members")
	if err != nil {
		return nil, err
	}
	defer leave()
	var out []string
	for _, m := range d.members {
		if m.Topic == topic && m.Group == group && m.until.After(time.Now()) {
			out = append(out, m.ID)
		}
	}
	return out, nil
}

func (d directory) Leave(ctx context.Context, m logsub.Member) error {
	leave, err := d.enter(ctx, "leave")
	if err != nil {
		return err
	}
	defer leave()
	d.members = slices.DeleteFunc(d.members, func(r memberRow) bool { return r.Member == m })
	return nil
}

// holders returns how many lanes each holder has of a group, by valid leases.
func (m *memory) holders(group string) map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]int{}
	for c, row := range m.cursors {
		if c.Consumer == group && row.until.After(time.Now()) {
			out[row.holder]++
		}
	}
	return out
}

// done returns the last acknowledged id of a cursor.
func (m *memory) done(c log.Cursor) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cursors[c].last
}

func (d directory) Started(ctx context.Context, cursors []log.Cursor) (starts []logsub.Start, err error) {
	err = d.note(ctx, cursors, func(s *logsub.Start) {
		s.Starts++
		starts = append(starts, *s)
	})
	return starts, err
}

func (d directory) Alone(ctx context.Context, c log.Cursor, message string, times int) error {
	return d.note(ctx, []log.Cursor{c}, func(s *logsub.Start) { s.Message, s.Times = message, times })
}

func (d directory) Progress(ctx context.Context, cursors []log.Cursor) error {
	return d.note(ctx, cursors, func(s *logsub.Start) { s.Starts, s.Done = 0, "" })
}

func (d directory) Stopped(ctx context.Context, c log.Cursor, done string) error {
	return d.note(ctx, []log.Cursor{c}, func(s *logsub.Start) { s.Starts, s.Done = 0, done })
}

func (d directory) note(ctx context.Context, cursors []log.Cursor, change func(*logsub.Start)) error {
	leave, err := d.enter(ctx, "note")
	if err != nil {
		return err
	}
	defer leave()
	for _, c := range cursors {
		s := d.starts[c]
		change(&s)
		d.starts[c] = s
	}
	return nil
}

// Place and Forget make the memory's groups movable.
func (d directory) Place(ctx context.Context, c log.Cursor) (log.Position, int64, error) {
	leave, err := d.enter(ctx, "place")
	if err != nil {
		return log.Position{}, 0, err
	}
	defer leave()
	last := d.cursors[c].last
	return log.Position{ID: last}, last, nil
}

func (d directory) Forget(ctx context.Context, _ logsub.Topic, leases []log.Lease) error {
	return d.begin(ctx, func(ctx context.Context) error {
		for _, l := range leases {
			if err := d.change(ctx, "forget", l, func(*cursorRow) {}); err != nil {
				return err
			}
			delete(d.cursors, l.Cursor)
			delete(d.starts, l.Cursor)
		}
		return nil
	})
}
