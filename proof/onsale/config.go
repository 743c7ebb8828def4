package onsale

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
)

// Config of an on-sale. The zero value is the published one.
type Config struct {
	People    int           // that want tickets; 200,000
	Arrive    time.Duration // within which all of them come; 10 s
	Window    time.Duration // from the first arrival to the end; 75 s
	Instances int           // that serve them; 4
	Threshold int           // that may be inside at once; 1,000
	Batch     int           // admissions in a tick of a second, over all instances; 500
	Hold      time.Duration // how long people stay inside: from half to one and a half; 4 s
	NoShow    time.Duration // how long the turn lasts of a person who does not come; 20 s
	Crash     float64       // share of people who vanish; 0.02
	Leave     float64       // share of people who leave the line; 0.01
	Workers   int           // calls at once; 1,024
	Seed      uint64        // of the random choices; 1

	Event  string // the event on sale; "on-sale"
	Memory bool   // keep the line in this process and not in Redis
	URL    string // of Redis, when there is no redis-server to start

	wrap     func(driver.Store) driver.Store // breaks it, for tests
	settings queue.Settings                  // of a room with an opening, whose store is not recorded
}

func (c Config) withDefaults() Config {
	c.People = cmp.Or(c.People, 200_000)
	c.Arrive = cmp.Or(c.Arrive, 10*time.Second)
	c.Window = cmp.Or(c.Window, 75*time.Second)
	c.Instances = cmp.Or(c.Instances, 4)
	c.Threshold = cmp.Or(c.Threshold, 1000)
	c.Batch = cmp.Or(c.Batch, 500)
	c.Hold = cmp.Or(c.Hold, 4*time.Second)
	c.NoShow = cmp.Or(c.NoShow, 20*time.Second)
	c.Crash = cmp.Or(c.Crash, 0.02)
	c.Leave = cmp.Or(c.Leave, 0.01)
	c.Workers = cmp.Or(c.Workers, 1024)
	c.Seed = cmp.Or(c.Seed, 1)
	c.Event = cmp.Or(c.Event, "on-sale")
	return c
}

func (c Config) validate() error {
	for _, n := range []struct {
		name  string
		value int
	}{{"people", c.People}, {"instances", c.Instances}, {"threshold", c.Threshold}, {"batch", c.Batch}, {"workers", c.Workers}} {
		if n.value < 1 {
			return fmt.Errorf("%s: %d; give at least 1", n.name, n.value)
		}
	}
	switch {
	case c.Arrive <= 0 || c.Hold <= 0 || c.NoShow < time.Second:
		return errors.New("arrive and hold have to be positive, and noshow at least 1 s")
	case c.Window <= c.Arrive:
		return fmt.Errorf("window: %s is not longer than the arrivals, %s", c.Window, c.Arrive)
	case c.Crash < 0 || c.Leave < 0 || c.Crash+c.Leave > 1:
		return fmt.Errorf("crash and leave: %g and %g are no shares of the people", c.Crash, c.Leave)
	}
	return nil
}
