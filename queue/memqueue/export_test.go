package memqueue

import (
	"bytes"
	"fmt"
	"io"

	"github.com/millrace-go/millrace/queue/driver"
)

// Rooms is how many rooms are kept.
func Rooms(of driver.MemoryStore) int {
	s := of.(*store)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.rooms)
}

// Framed is a file of this format with any data, and right checksums.
func Framed(data []byte) io.Reader {
	var file bytes.Buffer
	c := &coder{to: &file}
	c.begin()
	for len(data) > 0 {
		n := min(len(data), maxFrame)
		c.frame, data = append(c.frame, data[:n]...), data[n:]
		c.flush()
	}
	c.flush()
	return &file
}

// Unframed is the data of a file without its frames.
func Unframed(file []byte) []byte {
	var data []byte
	c := &coder{from: bytes.NewReader(file)}
	for c.begin(); c.err == nil && c.next(); {
		data = append(data, c.frame...)
	}
	return data
}

// Sound says what is wrong with the rooms.
func Sound(of driver.MemoryStore) error {
	s := of.(*store)
	for event, m := range s.rooms {
		waiting := 0
		for _, e := range m.line.ordered {
			waiting += e.count
		}
		if waiting != m.line.waiting || waiting != len(m.position) || len(m.inside.users) != len(m.inside.ends) ||
			len(m.turns.users) != len(m.turns.due) || len(m.turns.users) != len(m.turns.takers)+len(m.turns.silent) {
			return fmt.Errorf("%q: %d in blocks, %d waiting, %d by name; %d inside, %d by end", event, waiting, m.line.waiting, len(m.position), len(m.inside.users), len(m.inside.ends))
		}
		for user, order := range m.position {
			if who := m.line.at(order); who == nil || who.user != user {
				return fmt.Errorf("%q: %q is not at %d", event, user, order)
			}
		}
		if m.begun > s.clock() {
			return fmt.Errorf("%q begins at %d", event, m.begun)
		}
	}
	return nil
}
