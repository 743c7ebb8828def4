package redisqueue

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"github.com/millrace-go/millrace/internal/draws"
	"github.com/millrace-go/millrace/queue/draw"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/internal/roomcalls"
)

// Draw makes a step; see [driver.Drawer].
func (s *store) Draw(ctx context.Context, event string, r driver.Rules, step driver.DrawStep) (driver.Drawn, error) {
	if err := cmp.Or(checkRules(event, r), roomcalls.CheckStep(step)); err != nil {
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
