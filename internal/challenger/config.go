package challenger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/seal"
)

// Config is that of package queue/challenge.
type Config struct {
	Keys    *seal.Ring
	Limiter interface {
		Take(ctx context.Context, key string, every time.Duration, burst int) (wait time.Duration)
	}
	On         func(event string) bool
	Bits       int
	Captcha    func(ctx context.Context, event, user, answer string) error
	Page       string
	Accessible Accessible
}

// Accessible is the way of users that the challenge would keep out.
type Accessible struct {
	Wait      time.Duration
	Code      func(ctx context.Context, event, user, code string) error
	PerMinute int
}

const (
	maxBits      = 24
	maxWait      = 10 * time.Minute
	maxPerMinute = 100_000
)

func withDefaults(c Config) Config {
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
func validate(c Config) error {
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
