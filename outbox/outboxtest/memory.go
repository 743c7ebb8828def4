package outboxtest

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/pulse"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/headers"
	"github.com/millrace-go/millrace/sqltx"
)

// Memory is a driver.Store in memory, for tests of code that appends events.
// Events are appended inside [Memory.Do]. Nothing survives the process.
type Memory struct {
	pulse.Pulse

	// Intercept, when not nil, is called before each operation ("append",
	// "lease", "read", "settle", "release", "prune") and may fail it. Set it
	// before the store is used.
	Intercept func(op string) error

	mu     sync.Mutex
	shards []memoryShard
	lastID int64
	token  int64
	parked []driver.ParkedEvent
}

type memoryShard struct {
	rows   []driver.Item // in order; Mark is set
	first  int           // the position of rows[0]
	cursor int           // the position behind the last finished row
	retry  map[int64]driver.Failure
	fails  map[int64]driver.FailingEvent // held and deferred
	aside  []*memoryAside

	holder string
	token  int64
	until  time.Time
}

type memoryAside struct {
	item driver.Item
	due  time.Time
}

// NewMemory makes an empty store with the given number of shards, 1 at least.
func NewMemory(shards int) *Memory {
	return &Memory{shards: make([]memoryShard, max(shards, 1))}
}

// Do runs fn with a transaction that Append accepts. If fn returns nil, Do keeps the appended
// events and wakes the relays of this process.
func (m *Memory) Do(ctx context.Context, fn func(ctx context.Context, tx sqltx.Execer) error) error {
	tx := &memoryTx{store: m}
	if err := fn(ctx, tx); err != nil {
		return err
	}
	m.mu.Lock()
	for _, it := range tx.items {
		m.add(it)
	}
	m.mu.Unlock()
	m.Wake()
	return nil
}

func (m *Memory) add(it driver.Item) {
	s := &m.shards[log.LaneOf(it.Key, len(m.shards))]
	m.lastID++
	it.ID, it.CreatedAt = m.lastID, time.Now()
	it.Attempts, it.Retries, it.Age, it.Wait, it.FailedSince = 0, 0, 0, 0, time.Time{}
	s.rows = append(s.rows, it)
	s.rows[len(s.rows)-1].Mark = s.first + len(s.rows)
}

type memoryTx struct {
	store *Memory
	items []driver.Item
}

// ExecContext implements sqltx.Execer; there is no SQL to run.
func (*memoryTx) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	return nil, errors.New("outboxtest: a memory transaction runs no SQL")
}

// InTransaction says that this is a transaction; see sqltx.CheckTx.
func (*memoryTx) InTransaction() bool { return true }

func (m *Memory) intercept(op string) error {
	if m.Intercept == nil {
		return nil
	}
	return m.Intercept(op)
}

// Append implements driver.Store.
func (m *Memory) Append(_ context.Context, x sqltx.Execer, records []driver.Record) error {
	tx, ok := x.(*memoryTx)
	if !ok || tx.store != m {
		return errors.New("outboxtest: append inside Memory.Do, with the transaction it gives")
	}
	if err := m.intercept("append"); err != nil {
		return err
	}
	for _, r := range records {
		tx.items = append(tx.items, driver.Item{
			MessageID: r.Message.UUID, Topic: r.Topic, Key: r.Event.Key(), Headers: headers.Encode(r.Message.Metadata, r.Event.Key()),
			Payload: slices.Clone(r.Message.Payload),
		})
	}
	return nil
}

// Shards implements driver.Store.
func (m *Memory) Shards(context.Context) (int, error) { return len(m.shards), nil }

// Lease implements driver.Store.
func (m *Memory) Lease(_ context.Context, shard int, holder string, ttl time.Duration) (driver.Lease, error) {
	if err := m.intercept("lease"); err != nil {
		return driver.Lease{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, now := &m.shards[shard], time.Now()
	if s.holder != "" && s.holder != holder && s.until.After(now) {
		return driver.Lease{}, driver.ErrLeaseHeld
	}
	m.token++
	s.holder, s.token, s.until = holder, m.token, now.Add(ttl)
	l := driver.Lease{Shard: shard, Holder: holder, Token: s.token, State: s.cursor}
	byKey := map[string]int{}
	for _, a := range s.aside {
		i, ok := byKey[a.item.Key]
		if !ok {
			i = len(l.Aside)
			byKey[a.item.Key] = i
			l.Aside = append(l.Aside, driver.Aside{Key: a.item.Key, Wait: max(0, a.due.Sub(now))})
		}
		l.Aside[i].Count++
	}
	return l, nil
}

// Read implements driver.Store.
func (m *Memory) Read(ctx context.Context, l driver.Lease, q driver.Query) (driver.Batch, error) {
	if err := errors.Join(ctx.Err(), m.intercept("read")); err != nil {
		return driver.Batch{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.shards[l.Shard]
	var b driver.Batch
	if len(q.Keys) > 0 {
		for _, a := range s.aside {
			if len(b.Items) < q.Limit && slices.Contains(q.Keys, a.item.Key) {
				b.Items = append(b.Items, a.item)
			}
		}
		return b, nil
	}
	from, ok := q.After.(int)
	if !ok {
		from = l.State.(int)
	}
	b.Next = from
	for i := max(0, from-s.first); i < len(s.rows) && len(b.Items) < q.Limit; i++ {
		it := s.rows[i]
		if f, ok := s.retry[it.ID]; ok {
			it.Attempts, it.Retries, it.Age, it.Wait, it.FailedSince = f.Attempts, f.Retries, f.Age, f.Wait, f.Item.FailedSince
		}
		b.Items = append(b.Items, it)
		b.Next = it.Mark
	}
	return b, nil
}

// Settle implements driver.Store.
func (m *Memory) Settle(_ context.Context, l driver.Lease, set driver.Settlement) error {
	if err := m.intercept("settle"); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, now := &m.shards[l.Shard], time.Now()
	if s.token != l.Token {
		return driver.ErrLeaseLost
	}
	s.until = now.Add(set.TTL)
	if p, ok := set.Move.(int); ok {
		s.cursor = max(s.cursor, p)
	}
	for _, it := range set.Published {
		s.forget(it.ID)
	}
	for _, f := range set.Failures {
		s.fail(m, l.Shard, f, now)
	}
	return nil
}

func (s *memoryShard) forget(id int64) {
	delete(s.retry, id)
	delete(s.fails, id)
	s.aside = slices.DeleteFunc(s.aside, func(a *memoryAside) bool { return a.item.ID == id })
}

func (s *memoryShard) fail(m *Memory, shard int, f driver.Failure, now time.Time) {
	it := *f.Item
	it.Attempts, it.Retries, it.Age = f.Attempts, f.Retries, f.Age
	s.note(shard, it, f, now)
	switch f.State {
	case driver.Held:
		if s.retry == nil {
			s.retry = map[int64]driver.Failure{}
		}
		s.retry[it.ID] = f
	case driver.MovedAside:
		delete(s.retry, it.ID)
		it.Mark = nil
		a := &memoryAside{item: it, due: now.Add(f.Wait)}
		if i := slices.IndexFunc(s.aside, func(a *memoryAside) bool { return a.item.ID == it.ID }); i >= 0 {
			s.aside[i] = a
		} else {
			s.aside = append(s.aside, a)
		}
	case driver.Parked:
		s.forget(it.ID)
		if !slices.ContainsFunc(m.parked, func(p driver.ParkedEvent) bool { return p.ID == it.ID }) {
			m.parked = append(m.parked, driver.ParkedEvent{
				ID: it.ID, Shard: shard, Topic: it.Topic, MessageID: it.MessageID, Key: it.Key, Headers: it.Headers,
				Payload: it.Payload, CreatedAt: it.CreatedAt, Attempts: f.Attempts, LastError: f.Error,
				FirstFailedAt: it.FailedSince, ParkedAt: now,
			})
		}
	}
}

// Release implements driver.Store.
func (m *Memory) Release(_ context.Context, l driver.Lease) error {
	if err := m.intercept("release"); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := &m.shards[l.Shard]; s.token == l.Token {
		s.holder, s.until = "", time.Time{}
	}
	return nil
}
