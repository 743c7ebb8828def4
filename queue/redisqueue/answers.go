package redisqueue

import (
	"encoding/binary"
	"math"
	"math/bits"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// answer is the unread part of a script's answer, after the state that each begins with.
// Reading beyond its end makes it short, and the rest zero.
type answer struct {
	state driver.State
	woke  bool // the event was not in use before
	rest  string
	short bool
}

func (a *answer) take(n int) string {
	if len(a.rest) < n {
		a.rest, a.short = "", true
		return ""
	}
	taken := a.rest[:n]
	a.rest = a.rest[n:]
	return taken
}

func (a *answer) float() float64 {
	eight := a.take(double)
	if eight == "" {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64([]byte(eight)))
}

// number may be rounded up from the greatest one, such as a threshold that bounds nothing.
func (a *answer) number() int64 {
	if n := a.float(); n < 1<<63 {
		return int64(n)
	}
	return math.MaxInt64
}

func (a *answer) int() int   { return int(a.number()) }
func (a *answer) flag() bool { return a.float() != 0 }

func (a *answer) small() byte {
	one := a.take(1)
	if one == "" {
		return 0
	}
	return one[0]
}

func (a *answer) text() string {
	two := a.take(2)
	if two == "" {
		return ""
	}
	return a.take(int(two[0]) | int(two[1])<<8)
}

func (a *answer) times(unit time.Duration) time.Duration { return time.Duration(a.number()) * unit }

// readState reads the beginning of every answer.
func (a *answer) readState(lanes []driver.Lane) {
	s := &a.state
	a.woke = a.flag()
	s.Epoch = uint64(a.number())
	s.Now = time.UnixMicro(a.number())
	s.Threshold = a.int()
	s.Paused, s.Gated = a.flag(), a.flag()
	s.Settling = a.times(time.Millisecond)
	s.Waiting, s.Entitled, s.Silent, s.Active = a.int(), a.int(), a.int(), a.int()
	s.Rate.Admitted, s.Rate.Over = a.int(), a.times(time.Millisecond)
	s.Joined, s.Entered, s.NoShows, s.Expired, s.Departed = a.number(), a.number(), a.number(), a.number(), a.number()
	s.Laned, s.Returning = a.int(), a.int()
	s.Returned, s.Swept, s.Servers = a.number(), a.number(), a.number()
	version := a.number()
	s.Closed, s.Settings = version < 0, max(0, version)
	if opens := a.number(); opens > 0 {
		s.Opens = time.UnixMilli(opens)
	}
	s.Phase = driver.Phase(a.number())
	s.Stock = a.stock()
	if on := a.number(); on >= 0 {
		s.Challenge = new(on == 1)
	}
	if n := a.int(); n != len(lanes) {
		a.short = true
	}
	for i := range lanes {
		s.Lanes[i] = driver.Lane{Name: lanes[i].Name, Share: a.float()}
	}
	s.Stays = a.stays(s.Now)
}

func (a *answer) stock() (s driver.Stock) {
	left, at, gone := a.number(), a.number(), a.int()
	s.Known, s.Left, s.Gone = left >= 0, int(max(0, left)), gone
	if at > 0 {
		s.At = time.UnixMicro(at)
	}
	return s
}

func (a *answer) outcome() driver.Outcome {
	status, news := driver.Status(a.small()), a.small()
	return driver.Outcome{
		Status: status, New: news == 1 || news == 2 || news == 5, Entered: news == 2, Turn: news == 3 || news == 6, Returner: news >= 4,
		Order: a.number(), Ahead: a.int(), Left: a.times(time.Millisecond),
	}
}

// block reads the bits of a block, whose first is the highest of its byte in Redis.
func (a *answer) block() driver.Block {
	b := driver.Block{Number: a.number()}
	words := a.take(driver.BlockSize / 8)
	if words == "" {
		return b
	}
	for i := range b.Bits {
		b.Bits[i] = bits.Reverse64(binary.BigEndian.Uint64([]byte(words[i*8 : i*8+8])))
	}
	return b
}

func (a *answer) admitted() driver.Admitted {
	order := a.number()
	return driver.Admitted{Order: order, User: a.text()}
}
