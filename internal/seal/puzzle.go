package seal

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// Puzzles makes and opens the texts that a challenge asks about. Each is new, and bound
// to an event, a user and the time at which it was made.
type Puzzles struct{ sealer *sealer }

// NewPuzzles makes a Puzzles with the keys of a ring.
func NewPuzzles(ring *Ring) *Puzzles {
	return &Puzzles{sealer: newSealer(ring, "puzzle", timedSize)}
}

// Issue makes a puzzle.
func (p *Puzzles) Issue(event, user string) string {
	var salt [16]byte
	rand.Read(salt[:]) //nolint:errcheck // it never fails
	load := payload{
		a: binary.BigEndian.Uint64(salt[:]), b: int64(binary.BigEndian.Uint64(salt[8:])), timed: true, ms: time.Now().UnixMilli(),
	}
	return string(p.sealer.seal(nil, load, event, user))
}

// Open returns when a puzzle was made. Errors are the sentinels of this package.
func (p *Puzzles) Open(text, event, user string) (at time.Time, err error) {
	load, err := p.sealer.open(text, event, user)
	if err != nil {
		return time.Time{}, err
	}
	return time.UnixMilli(load.ms), nil
}
