package bench

import (
	"cmp"
	"fmt"
	"log/slog"
	"regexp"
	"time"
)

// Config is the configuration of a measurement. The zero value works.
type Config struct {
	// Window is the length of each part of a measurement: 3 s by default, 1 s to a minute.
	// A longer one evens out the server's other load, and puts more load on it.
	Window time.Duration
	// Size of a payload in bytes; 500 by default, up to 64 KiB.
	Size int
	// Callers at a time; 16 by default, up to 256. A limiter gets four times as many,
	// because calls of one process share round trips.
	Callers int
	// Name of everything that is created; millrace_bench by default. Lower-case letters,
	// digits and _, which are valid everywhere.
	Name string
	// Step is called when a step begins, and Progress with its progress; both may be nil.
	Step     func(text string)
	Progress func(text string)
	// Logger of the transports; silent when nil.
	Logger *slog.Logger
}

// The bounds of the rows and messages written, for servers of any speed.
const (
	maxRows     = 200_000
	maxMessages = 200_000
	paced       = 100 // per second, where latency is measured
)

func (c Config) withDefaults() Config {
	c.Window = cmp.Or(c.Window, 3*time.Second)
	c.Size = cmp.Or(c.Size, 500)
	c.Callers = cmp.Or(c.Callers, 16)
	c.Name = cmp.Or(c.Name, "millrace_bench")
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.Step == nil {
		c.Step = func(string) {}
	}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	return c
}

var plainName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// Validate reports errors in a configuration, by the names of the flags.
func (c Config) Validate() error {
	c = c.withDefaults()
	switch {
	case c.Window < time.Second || c.Window > time.Minute:
		return fmt.Errorf("--seconds is %g; give 1 to 60", c.Window.Seconds())
	case c.Size < 0 || c.Size > 64<<10:
		return fmt.Errorf("--size is %d; give 1 to 65536 bytes", c.Size)
	case c.Callers < 1 || c.Callers > 256:
		return fmt.Errorf("--callers is %d; give 1 to 256", c.Callers)
	case !plainName.MatchString(c.Name):
		return fmt.Errorf("--name is %q; give up to 40 lower-case letters, digits and _, beginning with a letter", c.Name)
	}
	return nil
}
