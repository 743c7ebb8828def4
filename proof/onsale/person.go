package onsale

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// stage of a person.
type stage uint8

const (
	coming  stage = iota
	waiting       // was told so
	inside        // was told so
	done          // was inside and has left
	left          // has left the line
	crashed       // went away without a word
)

// person of the crowd. Only one goroutine at a time acts for it and touches it.
type person struct {
	stage  stage
	where  int // the instance of the next call
	ticket string

	// Times are since the start; crashes and leaves are 0 when there is none.
	comes   time.Duration
	hold    time.Duration
	leaves  time.Duration
	crashes time.Duration

	first span // the call that lined the person up, from the first try to the answer
	stay  span // from when the person knew to be inside until the first try to leave
}

// span of time since the start; To is 0 while it lasts.
type span struct{ from, to time.Duration }

// crowd draws the plans of all people.
func crowd(cfg Config) []person {
	draw := rand.New(rand.NewPCG(cfg.Seed, 8))
	people := make([]person, cfg.People)
	for i := range people {
		p := &people[i]
		// One after the other, with random gaps.
		p.comes = time.Duration((float64(i) + draw.Float64()) / float64(cfg.People) * float64(cfg.Arrive))
		p.hold = cfg.Hold/2 + time.Duration(draw.Float64()*float64(cfg.Hold))
		p.where = draw.IntN(cfg.Instances)
		some := p.comes + 1 + time.Duration(draw.Float64()*float64(cfg.Window-p.comes))
		switch fate := draw.Float64(); {
		case fate < cfg.Crash:
			p.crashes = some
		case fate < cfg.Crash+cfg.Leave:
			p.leaves = some
		}
	}
	return people
}

// user is a person's id, of 16 bytes.
func user(n int32) string { return fmt.Sprintf("fan-%012d", n) }

// number is the person of an id.
func number(user string) int32 {
	n, err := strconv.Atoi(strings.TrimPrefix(user, "fan-"))
	if err != nil {
		return -1
	}
	return int32(n)
}
