package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// HoldFor is how long the connection of a timed-out charge is held at most.
const HoldFor = 30 * time.Second

// The test cards.
const (
	CardApproved = "4242424242424242"
	CardDeclined = "4000000000000002"
	CardTimeout  = "4000000000000341"
)

// Config of a [Gateway]. Path is required, the rest may stay zero.
type Config struct {
	// Path of the ledger's SQLite file. It is made when missing; its folder
	// must exist.
	Path string
	// MinLatency and MaxLatency bound the simulated time of POST /charges and
	// of a refund, drawn evenly. Both zero: 50 ms to 300 ms. A negative
	// MaxLatency turns it off.
	MinLatency, MaxLatency time.Duration
	// SettleAfter is when a timed-out charge becomes APPROVED, counted from
	// its acceptance. Default 3 s. Stored with the charge: changing it does
	// not change charges that wait already.
	SettleAfter time.Duration
}

func (c Config) validate() error {
	switch {
	case c.Path == "":
		return errors.New("gateway: Path is empty: name the ledger's SQLite file")
	case c.MinLatency < 0:
		return fmt.Errorf("gateway: MinLatency %v is negative: use 0 or more", c.MinLatency)
	case c.MaxLatency >= 0 && c.MinLatency > c.MaxLatency:
		return fmt.Errorf("gateway: MinLatency %v is above MaxLatency %v: swap them or raise MaxLatency", c.MinLatency, c.MaxLatency)
	case c.SettleAfter < 0:
		return fmt.Errorf("gateway: SettleAfter %v is negative: use 0 for the default of 3s", c.SettleAfter)
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.MinLatency == 0 && c.MaxLatency == 0 {
		c.MinLatency, c.MaxLatency = 50*time.Millisecond, 300*time.Millisecond
	}
	if c.MaxLatency < 0 {
		c.MinLatency, c.MaxLatency = 0, 0
	}
	c.SettleAfter = cmp.Or(c.SettleAfter, 3*time.Second)
	return c
}
