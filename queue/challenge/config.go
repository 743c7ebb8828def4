package challenge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/queue/token"
)

// Taker bounds the calls of keys: see package ratelimit/keyed, whose limiter is one.
type Taker interface {
	Take(ctx context.Context, key string, every time.Duration, burst int) (wait time.Duration)
}

// Config of a [Challenge]. Keys and Limiter are required.
type Config struct {
	// Keys sign the puzzles; those of the room will do. All processes need the same.
	Keys *token.Ring
	// Limiter remembers the used proofs, and the share of the accessible way. Processes
	// that share a room should share it.
	Limiter Taker
	// On says whether the challenge of an event is on that no operator has switched: see
	// queue.Room.SetChallenge. It is asked at each join, and so must be fast. nil means that
	// it is on.
	On func(event string) bool
	// Bits are those of the proof of work, 1 to 24; 12 by default. Each further one
	// doubles the work.
	Bits int
	// Captcha verifies an answer to the operator's CAPTCHA, and replaces the proof of
	// work. An error of the class infrastructure is an outage; any other means that the
	// answer is wrong.
	Captcha func(ctx context.Context, event, user, answer string) error
	// Page is the path of the operator's page with the CAPTCHA, required with it. It sets
	// the answer as a cookie (see package queuehttp) and leads back to the page that it
	// was opened from.
	Page string
	// Accessible is the way round.
	Accessible Accessible
}

// Accessible is the way of users that the challenge would keep out. Its zero value lets
// them in after 30 s, 60 in a minute.
type Accessible struct {
	// Wait is how long a user waits in place of a proof of work; 30 s by default, at
	// most 10 min. Negative: no user may.
	Wait time.Duration
	// Code verifies a code that a user has got from the operator, by mail or by phone;
	// nil takes none. It should accept a code once.
	Code func(ctx context.Context, event, user, code string) error
	// PerMinute is how many users may join this way in a minute, in each event; 60 by
	// default.
	PerMinute int
}

const (
	maxBits      = 24
	maxWait      = 10 * time.Minute
	maxPerMinute = 100_000
)

func (c Config) withDefaults() Config {
	if c.Bits == 0 {
		c.Bits = 12
	}
	if c.On == nil {
		c.On = func(string) bool { return true }
	}
	if c.Accessible.Wait == 0 {
		c.Accessible.Wait = 30 * time.Second
	}
	if c.Accessible.PerMinute == 0 {
		c.Accessible.PerMinute = 60
	}
	return c
}

// validate checks a config with its defaults.
func (c Config) validate() error {
	switch {
	case c.Keys == nil:
		return errors.New("challenge: Config.Keys is nil; make them with token.NewRing")
	case c.Limiter == nil:
		return errors.New("challenge: Config.Limiter is nil; make one with keyed.New of package ratelimit/keyed")
	case c.Bits < 1 || c.Bits > maxBits:
		return fmt.Errorf("challenge: Config.Bits is %d; give 1 to %d, or 0 for 12", c.Bits, maxBits)
	case c.Captcha != nil && (len(c.Page) < 1 || c.Page[0] != '/'):
		return fmt.Errorf("challenge: Config.Page is %q; give the path of the page with the CAPTCHA, such as /captcha", c.Page)
	case c.Captcha == nil && c.Page != "":
		return errors.New("challenge: Config.Page is set without Captcha; give the function that verifies its answers")
	case c.Accessible.Wait > maxWait:
		return fmt.Errorf("challenge: Config.Accessible.Wait is %s; give at most %s", c.Accessible.Wait, maxWait)
	case c.Accessible.PerMinute < 1 || c.Accessible.PerMinute > maxPerMinute:
		return fmt.Errorf("challenge: Config.Accessible.PerMinute is %d; give 1 to %d, or 0 for 60", c.Accessible.PerMinute, maxPerMinute)
	}
	return nil
}
