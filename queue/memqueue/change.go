package memqueue

import (
	"github.com/millrace-go/millrace/queue/driver"
)

func (m *room) change(c driver.Change, now int64, epoch func() uint64) {
	m.settle(&c)
	if c.Threshold != nil {
		n := *c.Threshold
		m.threshold = &n
	}
	if c.Paused != nil {
		m.paused = *c.Paused
	}
	if c.Challenge != nil {
		m.challenge = new(*c.Challenge)
	}
	if c.Clear {
		m.clear(now, epoch())
	}
	m.opens(c)
	m.restock(c, now)
	if c.Gate != nil && c.Gate.On != m.gate.on {
		if c.Gate.On {
			m.gate = gate{known: true, on: true, base: m.top - c.Gate.Positions}
		} else {
			m.gate.on, m.gate.positions = false, c.Gate.Positions
			m.top = max(m.top, m.gate.base+c.Gate.Positions)
		}
	}
}

// clear begins another epoch. Positions that were used stay so, and the gate
// stays where it is.
func (m *room) clear(now int64, epoch uint64) {
	m.epoch, m.begun, m.settled, m.cleared = epoch, now, 0, true
	m.top = max(m.top, now)
	m.clearOpening()
	m.line = newLine(m.line.version)
	m.position = map[string]int64{}
	m.turns, m.inside = newTurns(), newInside()
	m.returners, m.lanes, m.shared, m.credit = newReturners(), map[string]*lane{}, false, [1 + driver.MaxLanes]float64{}
	clear(m.kept)
	m.tick, m.admitted, m.rate, m.stays = 0, 0, rate{}, stays{}
	m.told, m.idle = m.line.version, false
	m.joined, m.entered, m.noShows, m.expired, m.departed, m.removed, m.returned = 0, 0, 0, 0, 0, 0, 0
}
