package redisqueue

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/internal/roomcalls"
)

// packed is the packed arguments of a script: one string costs less than many.
type packed []byte

// doubles appends Lua's numbers; Lua has no others.
func (p packed) doubles(numbers ...float64) packed {
	for _, n := range numbers {
		p = binary.LittleEndian.AppendUint64(p, math.Float64bits(n))
	}
	return p
}

const double = 8 // bytes

// rulesArgs are the arguments that all scripts have in common; see room.lua.
func rulesArgs(r driver.Rules, room int) packed {
	p := make(packed, 0, (15+len(r.Lanes)+room)*double).doubles(
		float64(rand.Uint64N(1<<53-1)+1), float64(r.Threshold),
		ms(r.Active), ms(r.Seen), ms(r.NoShow), float64(r.Tick.Microseconds()), float64(r.Batch),
		ms(r.SweepEvery), ms(r.Settle), float64(minutesOf(r)), ms(cmp.Or(r.Turn, r.NoShow)), flag(r.Closed), flag(r.Stocked),
		ms(r.Keep), float64(len(r.Lanes)))
	for _, lane := range r.Lanes {
		p = p.doubles(lane.Share)
	}
	return p
}

// sharesArgs are shares of lanes, as settings.lua keeps them.
func sharesArgs(shares map[string]float64) packed {
	p := packed{}
	for _, name := range slices.Sorted(maps.Keys(shares)) {
		p = binary.LittleEndian.AppendUint16(p, uint16(len(name))) //nolint:gosec // a name is short, as checkChange says
		p = append(p, name...)
		p = p.doubles(shares[name])
	}
	return p
}

// ms rounds up, so that a duration shorter than a millisecond does not become zero.
func ms(d time.Duration) float64 { return math.Ceil(float64(d) / float64(time.Millisecond)) }

// msAt is a time in ms since 1970, and 0 for none.
func msAt(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli())
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// none is the number of a value that is not given.
const none = -1.0

// given is the number of a value, and none without one.
func given[T any](value *T, number func(T) float64) float64 {
	if value == nil {
		return none
	}
	return number(*value)
}

func whole[T int | int64](n T) float64 { return float64(n) }

func beatsArgs(b driver.Beats) (n int, orders packed) {
	orders = make(packed, 0, len(b.Orders)*double)
	for _, order := range b.Orders {
		if order > 0 && order <= maxOrder {
			orders = orders.doubles(float64(order))
		}
	}
	return len(orders) / double, orders
}

// heard appends when the process last heard of the epochs that it knows.
func (p packed) heard(all [2]driver.Heard) packed {
	for _, h := range all {
		p = p.doubles(float64(h.Epoch), msAt(h.At))
	}
	return p
}

// Flags of a visit's fields; see visit.lua.
const (
	bringsPosition = 1
	bringsTicket   = 2
	bringsEntry    = 4
	bringsLane     = 8
)

// plainArgs are the users of visits that are all checks of different users without
// position and ticket, as most are in a rush: the script need not unpack them. The
// result is empty when there is any other visit.
func plainArgs(visits []driver.Visit) (n int, users [][]byte) {
	users = make([][]byte, 0, len(visits))
	known := make(map[string]struct{}, len(visits))
	for i := range visits {
		v := &visits[i]
		if v.Kind != driver.Check || v.Position > 0 || v.Epoch != 0 || v.Lane != "" {
			return 0, nil
		}
		if _, twice := known[v.User]; twice {
			return 0, nil
		}
		known[v.User] = struct{}{}
		users = append(users, []byte(v.User))
	}
	return len(visits), users
}

func visitsArgs(r driver.Rules, visits []driver.Visit) packed {
	size := 0
	for i := range visits {
		size += 4 + len(visits[i].User) + 5*double
	}
	p := make(packed, 0, size)
	for i := range visits {
		p = p.visit(r, &visits[i])
	}
	return p
}

func (p packed) visit(r driver.Rules, v *driver.Visit) packed {
	var brings byte
	if v.Position > 0 && v.Position <= maxOrder {
		brings |= bringsPosition
	}
	if v.Epoch != 0 && v.Order > 0 && v.Order <= maxOrder {
		brings |= bringsTicket
	}
	if v.Kind == driver.Verify {
		brings |= bringsEntry
	}
	if v.Lane != "" {
		brings |= bringsLane
	}
	p = append(p, byte(v.Kind), brings)
	p = binary.LittleEndian.AppendUint16(p, uint16(len(v.User)))
	p = append(p, v.User...)
	if brings&bringsPosition != 0 {
		p = p.doubles(float64(v.Position))
	}
	if brings&bringsTicket != 0 {
		// An epoch above those of the scripts stays above them.
		p = p.doubles(float64(v.Epoch), float64(v.Order), msAt(v.Until))
	}
	if brings&bringsEntry != 0 {
		p = p.doubles(float64(v.Entry))
	}
	if brings&bringsLane != 0 {
		p = p.doubles(float64(1 + roomcalls.LaneOf(r, v.Lane)))
	}
	return p
}
