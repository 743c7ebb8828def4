package redisqueue

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"github.com/millrace-go/millrace/internal/draws"
	"github.com/millrace-go/millrace/queue/draw"
	"github.com/millrace-go/millrace/queue/driver"
)

// Draw makes a step; see [driver.Drawer].
func (s *store) Draw(ctx context.Context, event string, r driver.Rules, step driver.DrawStep) (driver.Drawn, error) {
	if err := cmp.Or(checkRules(event, r), checkStep(step)); err != nil {
		return driver.Drawn{}, wrap("draw for", event, err)
	}
	a, err := s.runBy(ctx, s.scripts.draw, r, func(now int64) ([]string, [][]byte) {
		this := now / spanOf(r)
		args := rulesArgs(r, 5).doubles(float64(this), float64(step.Kind), float64(step.Holder), float64(step.From), float64(step.Most))
		return slices.Concat(s.keysSeen(event, r, this, 2), s.drawKeys(event)), [][]byte{args, stepArg(step)}
	})
	var d driver.Drawn
	if err == nil {
		d, err = a.drawn(step)
	}
	if err != nil {
		return driver.Drawn{}, s.failed("draw for", event, err)
	}
	return d, nil
}

// drawKeys are the keys of a draw, which no other script but change.lua needs.
func (s *store) drawKeys(event string) []string {
	tag := s.prefix + "{" + event + "}:"
	return []string{tag + "draw", tag + "leaves"}
}

// stepArg is what a step brings; see draw.lua.
func stepArg(step driver.DrawStep) (b packed) {
	switch step.Kind {
	case driver.DrawLeaves:
		for i := range step.Leaves {
			b = append(b, step.Leaves[i][:]...)
		}
	case driver.DrawRoot:
		b = append(b, step.Root...)
	case driver.DrawSeed:
		b = append(append(b, step.Seed...), step.Beacon...)
	case driver.DrawMove:
		for _, one := range step.Moves {
			b = binary.LittleEndian.AppendUint16(b, uint16(len(one.User)))
			b = append(b, one.User...)
			b = b.doubles(float64(one.Order))
		}
	}
	return b
}

func (a *answer) drawn(step driver.DrawStep) (driver.Drawn, error) {
	d := driver.Drawn{State: a.state, Held: a.flag() || step.Kind == driver.DrawLook, Limit: a.number(), Count: a.int()}
	sizes := [4]int{a.int(), a.int(), a.int(), a.int()}
	var parts [4][]byte
	for i, n := range sizes {
		if n < 0 {
			return d, errShort
		}
		if n > 0 {
			parts[i] = []byte(a.take(n))
		}
	}
	d.Root, d.Seed, d.Beacon = parts[0], parts[1], parts[2]
	if len(parts[3])%draws.Size != 0 {
		return d, errShort
	}
	for leaf := range slices.Chunk(parts[3], draws.Size) {
		d.Leaves = append(d.Leaves, draw.Leaf(leaf))
	}
	for len(a.rest) > 0 && !a.short {
		d.Users = append(d.Users, a.admitted())
	}
	if a.short {
		return d, errShort
	}
	return d, nil
}

func checkStep(s driver.DrawStep) error {
	switch {
	case s.Kind > driver.DrawOpen:
		return bad("a step of kind %d; there is no such kind", s.Kind)
	case s.Kind != driver.DrawLook && (s.Holder == 0 || s.Holder > maxOrder):
		return bad("DrawStep.Holder is %d; it must be 1 to 2^53", s.Holder)
	case s.From < 0 || s.Most < 0 || s.Most > driver.MaxLeaves && s.Kind != driver.DrawRoot:
		return bad("a step from %d on, of %d; it must be from 0, and of at most %d", s.From, s.Most, driver.MaxLeaves)
	case len(s.Leaves) > driver.MaxLeaves || len(s.Moves) > driver.MaxMoves:
		return bad("a step has %d leaves and %d moves; it takes at most %d and %d", len(s.Leaves), len(s.Moves), driver.MaxLeaves, driver.MaxMoves)
	case s.Kind == driver.DrawRoot && len(s.Root) != draws.Size, s.Kind == driver.DrawSeed && len(s.Seed) != draws.Size:
		return bad("a root of %d bytes and a seed of %d; they have %d", len(s.Root), len(s.Seed), draws.Size)
	}
	return nil
}
