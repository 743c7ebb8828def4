package memqueue

import (
	"maps"

	"github.com/millrace-go/millrace/queue/driver"
)

// settings is what the room knows of the operators' settings. It is not saved: a room
// that was restored asks for them again.
type settings struct {
	known   bool
	version int64 // closed until they are known
	paused  bool  // whether the room was before it was closed
	shares  map[string]float64
}

const closed = -1

// closeIfNew closes a room that has no copy of its settings.
func (m *room) closeIfNew(r driver.Rules) {
	if r.Closed && !m.settings.known {
		m.settings = settings{known: true, version: closed, paused: m.paused}
		m.paused = true
	}
}

// settle takes a change of some version, and removes from it what is older than that
// which is known.
func (m *room) settle(c *driver.Change) {
	switch {
	case c.Settings == nil:
		return
	case *c.Settings < m.settings.version:
		c.Threshold, c.Paused, c.Opens, c.Shares, c.Challenge = nil, nil, nil, nil, nil
		return
	case m.settings.version == closed:
		m.paused = m.settings.paused
	}
	m.settings.known, m.settings.version = true, *c.Settings
	m.challenge = nil // unless the change has one
	if c.Shares != nil {
		m.settings.shares = maps.Clone(c.Shares)
	}
}

// shareOf is the share of a lane: the operators', or that of the rules.
func (m *room) shareOf(lane driver.Lane) float64 {
	if share, set := m.settings.shares[lane.Name]; set {
		return share
	}
	return lane.Share
}
