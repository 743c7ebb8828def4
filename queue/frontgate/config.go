package frontgate

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/millrace-go/millrace/queue"
	queuedriver "github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

// Config of a [Gate]. The zero value works.
type Config struct {
	// Line is the line behind the gate, which is told when the gate is switched: a
	// *queue.Room. While its gate is on, it takes only visitors with a position. None by
	// default.
	Line interface {
		Gate(ctx context.Context, event string, g queuedriver.Gate) (queue.State, error)
	}
	// Step is how many visitors a round lets arrive at the line behind the gate; 500
	// by default. A round raises the serving counter by so many. If fewer show up, as
	// State.Joined of the line says, the next rounds raise it by more, up to 8 times as
	// many: unused positions delay no visitor. Without a Line all count as
	// arrivals.
	Step int64
	// Every is the time between two rounds, in whole milliseconds; 10 s by default.
	Every time.Duration
	// Refresh is the age at which a poll refreshes the counters; 1 s by default.
	// Each event in use costs a process one call of the store each time.
	Refresh time.Duration
	// Stale is the age from which the counters count as unknown, so that polls are
	// answered ErrUnavailable; 3 s by default, and never below Refresh.
	Stale time.Duration
	// Timeout of a call of the store; 2 s by default.
	Timeout time.Duration
	// Lasts is how long a token is valid; 600 s by default.
	Lasts time.Duration
	// Issuer is the claim iss of the tokens; "millrace" by default.
	Issuer string
	// MaxEvents is the number of events whose counters are known at once; 1,000 by
	// default, about 1 KB each. Further events cost more calls of the store.
	MaxEvents int
	// Logger gets rounds that failed; slog.Default() when nil.
	Logger *slog.Logger
}

func (c Config) complete() (Config, error) {
	for _, d := range [...]struct {
		name  string
		value *time.Duration
		usual time.Duration
	}{
		{"Every", &c.Every, 10 * time.Second}, {"Refresh", &c.Refresh, time.Second},
		{"Stale", &c.Stale, max(3*time.Second, 3*c.Refresh)}, {"Timeout", &c.Timeout, 2 * time.Second},
	} {
		*d.value = cmp.Or(*d.value, d.usual)
		if *d.value < 0 {
			return c, fmt.Errorf("frontgate: Config.%s is %s; give a positive duration, or 0 for %s", d.name, *d.value, d.usual)
		}
	}
	c.Step = cmp.Or(c.Step, 500)
	c.MaxEvents = cmp.Or(c.MaxEvents, 1000)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	switch {
	case c.Step < 1 || c.Step > driver.MaxAdvance:
		return c, fmt.Errorf("frontgate: Config.Step is %d; give 1 to %d, or 0 for 500", c.Step, driver.MaxAdvance)
	case c.Every > driver.Kept || c.Every%time.Millisecond != 0:
		return c, fmt.Errorf("frontgate: Config.Every is %s; give whole milliseconds up to %s", c.Every, driver.Kept)
	case c.Stale < c.Refresh:
		return c, fmt.Errorf("frontgate: Config.Stale is %s and below Refresh, %s; make it a few times as long", c.Stale, c.Refresh)
	case c.MaxEvents < 1:
		return c, fmt.Errorf("frontgate: Config.MaxEvents is %d; give at least 1, or 0 for 1,000", c.MaxEvents)
	}
	return c, nil
}
