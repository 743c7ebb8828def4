package cheats

import (
	"cmp"
	"errors"
	"time"
)

// Config of a run. The zero value is the published one.
type Config struct {
	People    int           // half of them cheat; 5,000
	For       time.Duration // from the first arrival to the end; 10 min
	Threshold int           // people who may be inside at once; 60
	Stay      time.Duration // how long honest people stay inside; 5 s
	Active    time.Duration // how long a place lasts; 20 s
	Kill      time.Duration // time between two kills of instances; 15 s
	Promote   time.Duration // time between two promotions of the replica; 1 min
	Lose      time.Duration // the time before a promotion whose writes are lost; 1 s
	Seed      uint64        // of the random choices; 1

	Room string // path of a program made from proof/cmd/room; it is built when empty

	more int // places of the rooms, for a test
}

func (c Config) withDefaults() Config {
	c.People = cmp.Or(c.People, 5000)
	c.For = cmp.Or(c.For, 10*time.Minute)
	c.Threshold = cmp.Or(c.Threshold, 60)
	c.Stay = cmp.Or(c.Stay, 5*time.Second)
	c.Active = cmp.Or(c.Active, 20*time.Second)
	c.Kill = cmp.Or(c.Kill, 15*time.Second)
	c.Promote = cmp.Or(c.Promote, time.Minute)
	c.Lose = cmp.Or(c.Lose, time.Second)
	c.Seed = cmp.Or(c.Seed, 1)
	return c
}

func (c Config) validate() error {
	switch {
	case c.People < 10 || c.Threshold < 1:
		return errors.New("give at least 10 people, and a threshold of at least 1")
	case c.For < 10*time.Second || c.Stay <= 0 || c.Active <= c.Stay || c.Kill <= 0 || c.Lose <= 0:
		return errors.New("run for at least 10 s; stay, kill and lose are positive, and active is longer than stay")
	case c.Promote <= 2*c.Lose:
		return errors.New("promote has to be longer than twice what each promotion loses")
	}
	return nil
}
