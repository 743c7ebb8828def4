package outboxtest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/millrace-go/millrace/outbox/driver"
)

// Prune implements driver.Pruner.
func (m *Memory) Prune(_ context.Context, shard int, before time.Time, limit int) (int, error) {
	if err := m.intercept("prune"); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, n := &m.shards[shard], 0
	for n < limit && n < s.cursor-s.first && s.rows[n].CreatedAt.Before(before) {
		n++
	}
	s.rows, s.first = s.rows[n:], s.first+n
	return n, nil
}

// Parked implements driver.Parking.
func (m *Memory) Parked(_ context.Context, after int64, limit int) ([]driver.ParkedEvent, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []driver.ParkedEvent
	for _, p := range m.parked {
		if p.ID > after && len(out) < limit {
			out = append(out, p)
		}
	}
	return out, nil
}

// note stores the event that Failing returns; forget removes it.
func (s *memoryShard) note(shard int, it driver.Item, f driver.Failure, now time.Time) {
	if f.Attempts == 0 {
		return // the event only waits behind another
	}
	if s.fails == nil {
		s.fails = map[int64]driver.FailingEvent{}
	}
	since := now
	if before, ok := s.fails[it.ID]; ok {
		since = before.FailedSince
	}
	s.fails[it.ID] = driver.FailingEvent{
		ID: it.ID, Shard: shard, Topic: it.Topic, MessageID: it.MessageID, Key: it.Key, CreatedAt: it.CreatedAt,
		Aside: f.State == driver.MovedAside, Attempts: f.Attempts, Retries: f.Retries, Age: f.Age,
		LastError: f.Error, FailedSince: since, NextAttemptAt: now.Add(f.Wait),
	}
}

// Failing implements driver.Failing.
func (m *Memory) Failing(_ context.Context, after int64, limit int) ([]driver.FailingEvent, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []driver.FailingEvent
	for i := range m.shards {
		for id, f := range m.shards[i].fails {
			if id > after {
				out = append(out, f)
			}
		}
	}
	slices.SortFunc(out, func(a, b driver.FailingEvent) int { return cmp.Compare(a.ID, b.ID) })
	return out[:min(len(out), limit)], nil
}

// Retry implements driver.Parking.
func (m *Memory) Retry(_ context.Context, ids ...int64) (int, error) {
	return m.unpark(func(id int64) bool { return slices.Contains(ids, id) }), nil
}

// RetryAll implements driver.Parking.
func (m *Memory) RetryAll(context.Context) (int, error) {
	return m.unpark(func(int64) bool { return true }), nil
}

func (m *Memory) unpark(match func(id int64) bool) (n int) {
	m.mu.Lock()
	m.parked = slices.DeleteFunc(m.parked, func(p driver.ParkedEvent) bool {
		if !match(p.ID) {
			return false
		}
		n++
		m.add(driver.Item{MessageID: p.MessageID, Topic: p.Topic, Key: p.Key, Headers: p.Headers, Payload: p.Payload})
		return true
	})
	m.mu.Unlock()
	m.Wake()
	return n
}

// Stats implements driver.Inspector.
func (m *Memory) Stats(context.Context) ([]driver.ShardStats, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]driver.ShardStats, len(m.shards))
	for i := range m.shards {
		s := &m.shards[i]
		st := driver.ShardStats{Shard: i, Aside: len(s.aside), Failing: len(s.retry)}
		if s.until.After(time.Now()) {
			st.Holder = s.holder
		}
		waiting := s.rows[max(0, s.cursor-s.first):]
		st.Backlog = len(waiting) + len(s.aside)
		if len(waiting) > 0 {
			st.Oldest = waiting[0].CreatedAt
		}
		for _, a := range s.aside {
			if a.item.Attempts > 0 {
				st.Failing++
			}
			if st.Oldest.IsZero() || a.item.CreatedAt.Before(st.Oldest) {
				st.Oldest = a.item.CreatedAt
			}
		}
		for _, p := range m.parked {
			if p.Shard == i {
				st.Parked++
			}
		}
		out[i] = st
	}
	return out, nil
}
