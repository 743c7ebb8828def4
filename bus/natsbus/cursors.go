package natsbus

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/bus/driver/logdriver"
)

// cursor is a group's place in a partition, with the lease on it and the traces of crashes, as
// one key of the bucket.
type cursor struct {
	Place   int64           `json:"place"`   // the sequence of the last message done
	Created time.Time       `json:"created"` // of the stream that the place is in
	Holder  string          `json:"holder,omitempty"`
	Token   int64           `json:"token"`
	TTL     time.Duration   `json:"ttl,omitempty"` // of the lease, in nanoseconds, since the key was written
	Start   logdriver.Start `json:"start,omitzero"`
}

// in is the cursor's place in the stream that was created at the given time: a new stream
// counts from 1 again.
func (c cursor) in(created time.Time) int64 {
	if !c.Created.Equal(created) {
		return 0
	}
	return c.Place
}

func (s *store) cursorOf(c logdriver.Cursor) string {
	p := s.lanes.Partition(c.Lane)
	return s.cursor(p.Topic, p.N, token(c.Consumer))
}

// Lease implements logdriver.Log. Whether another holder's lease has expired is decided by
// the servers' clock alone: servers note when a key was written, and return their time.
func (s *store) Lease(ctx context.Context, c logdriver.Cursor, holder string, ttl time.Duration) (logdriver.Lease, error) {
	got, err := change(ctx, s, s.cursorOf(c), kept[cursor]{}, func(k *kept[cursor]) error {
		have := &k.value
		if have.Holder != "" && have.Holder != holder {
			info, err := s.info(ctx, s.bucket())
			if err != nil {
				return err
			}
			if info.TimeStamp.Before(k.at.Add(have.TTL)) {
				return logdriver.ErrLeaseHeld
			}
		}
		topic, _ := s.lanes.Topic(s.lanes.Partition(c.Lane).Topic)
		info, err := s.made(ctx, topic)
		if err != nil {
			return err
		}
		if !have.Created.Equal(info.Created) { // the traces are of a stream that is gone, too
			*have = cursor{Created: info.Created, Token: have.Token}
		}
		have.Holder, have.Token, have.TTL = holder, have.Token+1, ttl
		return nil
	})
	if err != nil {
		return logdriver.Lease{}, err
	}
	s.held.Store(c, got)
	return logdriver.Lease{Cursor: c, Holder: holder, Token: got.value.Token, Position: logdriver.Position{ID: got.value.Place}}, nil
}

// edit is a change of a cursor by the holder of a lease, or by any process if the Token is 0.
type edit struct {
	logdriver.Lease
	set func(*cursor)
}

// write is Make of logdriver.Writes: the cursors are written in parallel, each once.
func (s *store) write(ctx context.Context, edits []edit) error {
	of := make(map[logdriver.Cursor][]edit)
	for _, e := range edits {
		of[e.Cursor] = append(of[e.Cursor], e)
	}
	return kit.Each(slices.Collect(maps.Keys(of)), func(c logdriver.Cursor) error { return s.apply(ctx, c, of[c]) })
}

// apply starts from the cursor as this process wrote it last: the holder of its lease is the only
// writer. If the revision is another one, because another member has the lease or because the
// answer to a write was lost, the cursor is read.
func (s *store) apply(ctx context.Context, c logdriver.Cursor, edits []edit) error {
	last, _ := s.held.Load(c)
	known, _ := last.(kept[cursor])
	now, err := change(ctx, s, s.cursorOf(c), known, func(k *kept[cursor]) error {
		for _, e := range edits {
			// A cursor without a token was removed, with its group.
			if k.value.Token == 0 || e.Token != 0 && (e.Token != k.value.Token || e.Holder != k.value.Holder) {
				return logdriver.ErrLeaseLost
			}
			e.set(&k.value)
		}
		return nil
	})
	if err == nil {
		s.held.Store(c, now)
	}
	return err
}

func (s *store) Renew(ctx context.Context, ttl time.Duration, leases ...logdriver.Lease) error {
	edits := make([]edit, len(leases))
	for i, lease := range leases {
		edits[i] = edit{lease, func(have *cursor) { have.TTL = ttl }}
	}
	return s.writes.Add(ctx, edits...)
}

// Advance implements logdriver.Log. A cursor that moves has made progress since its start.
func (s *store) Advance(ctx context.Context, lease logdriver.Lease, p logdriver.Position, ttl time.Duration) error {
	return s.writes.Add(ctx, edit{lease, func(have *cursor) {
		if have.Place != p.ID {
			have.Start.Starts, have.Start.Done = 0, ""
		}
		have.Place, have.TTL = p.ID, ttl
	}})
}

func (s *store) Release(ctx context.Context, lease logdriver.Lease) error {
	err := s.writes.Add(ctx, edit{lease, func(have *cursor) { have.Holder, have.TTL = "", 0 }})
	if errors.Is(err, logdriver.ErrLeaseLost) {
		return nil
	}
	return err
}

// traces changes the traces of crashes, without a lease.
func traces(c logdriver.Cursor, set func(*logdriver.Start)) edit {
	return edit{logdriver.Lease{Cursor: c}, func(have *cursor) { set(&have.Start) }}
}

func (s *store) Started(ctx context.Context, cursors []logdriver.Cursor) ([]logdriver.Start, error) {
	all, edits := make([]logdriver.Start, len(cursors)), make([]edit, len(cursors))
	for i, c := range cursors {
		edits[i] = traces(c, func(start *logdriver.Start) {
			start.Starts++
			all[i] = *start
		})
	}
	return all, s.writes.Add(ctx, edits...)
}

func (s *store) Alone(ctx context.Context, c logdriver.Cursor, message string, times int) error {
	return s.writes.Add(ctx, traces(c, func(start *logdriver.Start) { start.Message, start.Times = message, times }))
}

// Progress implements logdriver.Directory. Advance has recorded it.
func (s *store) Progress(context.Context, []logdriver.Cursor) error { return nil }

func (s *store) Stopped(ctx context.Context, c logdriver.Cursor, done string) error {
	return s.writes.Add(ctx, traces(c, func(start *logdriver.Start) { start.Starts, start.Done = 0, done }))
}

// Place implements logdriver.Places. A partition's numbers are the sequences of its stream.
func (s *store) Place(ctx context.Context, c logdriver.Cursor) (logdriver.Position, int64, error) {
	all, err := list[cursor](ctx, s, s.cursorOf(c), 1)
	if err != nil || len(all) == 0 {
		return logdriver.Position{}, 0, err
	}
	stored, _ := s.created.Load(s.lanes.Partition(c.Lane).Topic)
	created, _ := stored.(time.Time)
	at := all[0].value.in(created)
	return logdriver.Position{ID: at}, at, nil
}

// Forget implements logdriver.Places. Each cursor is written under its lease first, so the
// lease is still held when the cursor is removed.
func (s *store) Forget(ctx context.Context, topic logdriver.Topic, leases []logdriver.Lease) error {
	if err := s.Renew(ctx, time.Minute, leases...); err != nil {
		return err
	}
	subjects := []string{s.member(topic.Name, leases[0].Consumer, "*")}
	for _, lease := range leases {
		subjects = append(subjects, s.cursorOf(lease.Cursor))
	}
	for _, subject := range subjects {
		if _, err := s.purge(ctx, s.bucket(), subject, 0); err != nil {
			return err
		}
	}
	return nil
}
