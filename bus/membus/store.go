package membus

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/fault"
)

// store is shared by the buses of one name: topics by name.
type store struct {
	users     int // guarded by the scheme
	retention int

	mu     sync.Mutex
	topics map[string]*topic
}

func newStore(retention int) *store {
	if retention == 0 {
		retention = defaultRetention
	}
	return &store{retention: retention, topics: map[string]*topic{}}
}

// topic returns the topic of that name, and makes it if necessary.
func (s *store) topic(name string) *topic {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[name]
	if t == nil {
		t = &topic{name: name, retention: s.retention, groups: map[string]*group{}}
		s.topics[name] = t
	}
	return t
}

// find returns the topic of that name, or nil.
func (s *store) find(name string) *topic {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.topics[name]
}

func (s *store) all() []*topic {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.topics))
}

// entry is a published message. It is never changed.
type entry struct {
	uuid     string
	metadata map[string]string
	payload  []byte
	at       time.Time
}

func (e *entry) message() *message.Message {
	m := message.NewMessage(e.uuid, bytes.Clone(e.payload))
	maps.Copy(m.Metadata, e.metadata)
	return m
}

// topic is a log: entry i has position first + i.
type topic struct {
	name      string
	retention int

	mu      sync.Mutex
	entries []*entry
	first   int64
	groups  map[string]*group
}

// append adds the messages, all or none.
func (t *topic) append(messages []*message.Message) error {
	entries := make([]*entry, len(messages))
	now := time.Now()
	for i, m := range messages {
		entries[i] = &entry{uuid: m.UUID, metadata: maps.Clone(m.Metadata), payload: bytes.Clone(m.Payload), at: now}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if surplus := len(t.entries) + len(entries) - t.retention; surplus > 0 {
		if err := t.drop(surplus); err != nil {
			return err
		}
	}
	t.entries = append(t.entries, entries...)
	for _, g := range t.groups {
		if g.holder != nil {
			g.holder.ready.Send()
		}
	}
	return nil
}

// drop removes the oldest n entries, unless a group still has to read one.
func (t *topic) drop(n int) error {
	if n > len(t.entries) {
		return fault.MarkPermanent(fmt.Errorf("membus: %d messages in one publish are more than topic %s retains (%d)", n-len(t.entries)+t.retention, t.name, t.retention))
	}
	for name, g := range t.groups {
		if g.cursor < t.first+int64(n) {
			return fmt.Errorf("%w: topic %s, retention %d, group %s is %d behind", errFull, t.name, t.retention, name, t.end()-g.cursor)
		}
	}
	clear(t.entries[:n]) // or the slice would keep them alive
	t.entries = t.entries[n:]
	t.first += int64(n)
	return nil
}

// group returns the group of that name. It makes a missing group at the earliest retained entry.
// The caller holds t.mu.
func (t *topic) group(name string) *group {
	g := t.groups[name]
	if g == nil {
		g = &group{cursor: t.first, done: map[int64]bool{}}
		t.groups[name] = g
	}
	return g
}

// end is the position after the last entry. The caller holds t.mu.
func (t *topic) end() int64 { return t.first + int64(len(t.entries)) }

// at returns the entry at a retained position. The caller holds t.mu.
func (t *topic) at(position int64) *entry { return t.entries[position-t.first] }

// lag is how far a group is behind. The caller holds t.mu.
func (t *topic) lag(name string, g *group) bus.Lag {
	l := bus.Lag{Topic: t.name, Group: name, Messages: int(t.end() - g.cursor)}
	if l.Messages > 0 {
		l.Oldest = t.at(g.cursor).at
	}
	return l
}

func (t *topic) newest(limit int) []*message.Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	from := max(0, len(t.entries)-max(limit, 0))
	messages := make([]*message.Message, 0, len(t.entries)-from)
	for _, e := range t.entries[from:] {
		messages = append(messages, e.message())
	}
	return messages
}

// unsettled returns the oldest messages that a group has not acknowledged.
func (t *topic) unsettled(name string, limit int) []*message.Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	from, acked := t.first, map[int64]bool{}
	if g := t.groups[name]; g != nil {
		from = g.cursor
		maps.Copy(acked, g.done)
		if g.holder != nil {
			for _, position := range g.holder.prefix.Behind() {
				acked[position] = true
			}
		}
	}
	var messages []*message.Message
	for position := from; position < t.end() && len(messages) < limit; position++ {
		if !acked[position] {
			messages = append(messages, t.at(position).message())
		}
	}
	return messages
}

// group is a consumer group's progress in a topic: every entry before cursor is done, and so are
// those in done, behind it. One source at a time holds the group; others wait in line. Guarded
// by the topic's mu.
type group struct {
	cursor int64
	done   map[int64]bool
	holder *source
	line   []*source
}

// join lets s hold the group, or wait in line.
func (g *group) join(s *source) {
	if g.holder != nil {
		g.line = append(g.line, s)
		return
	}
	g.holder, s.next = s, g.cursor
	s.ready.Send()
}

// leave removes s from the group; if s was the holder, the next source in line becomes the
// holder.
func (g *group) leave(s *source) {
	if g.holder != s {
		g.line = slices.DeleteFunc(g.line, func(w *source) bool { return w == s })
		return
	}
	for _, position := range s.prefix.Behind() {
		g.done[position] = true
	}
	g.holder = nil
	if len(g.line) > 0 {
		next := g.line[0]
		g.line = g.line[1:]
		g.join(next)
	}
}
