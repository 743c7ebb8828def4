package counter

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/millrace-go/millrace/counter/driver"
)

// Config configures a [Counter]. The zero value counts, for a process that neither reads totals
// nor updates them.
type Config struct {
	// Applier keeps the totals: sqlcounter.New's. Counts, Run and Flush require it.
	Applier driver.Applier
	// Source has the change rows from which the totals are then made. The default is none:
	// totals are made from the store's deltas, and deltas that the store loses are lost.
	Source driver.Source
	// Every is how often Run updates the totals; 3 s by default. Each round costs a few calls
	// of store and database.
	Every time.Duration
	// Batch is how many keys, or change rows, one transaction takes; 500 by default. Its rows
	// stay locked for that long.
	Batch int
	// Lease is how long a crashed flusher blocks others; 30 s by default. It must be longer
	// than Every.
	Lease time.Duration
	// Keep is how long the records of applied batches, and change rows, are kept; 30 days by
	// default. An applied batch that stays aside for longer could be applied again.
	Keep time.Duration
	// Observe is called after each round that changed something, by the goroutine of the round;
	// none by default.
	Observe func(Round)
	// Timeout bounds one call of Add, Pending or Counts to the store; 250 ms by default. A
	// hanging store delays a request by this time.
	Timeout time.Duration
	// Rest is how long an unreachable store is not called by these: calls fail at once; 1 s by
	// default. With a longer Rest, counting resumes later.
	Rest time.Duration
	// Logger receives a line when rounds begin to fail and when they work again; slog.Default()
	// by default.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Every == 0 {
		c.Every = 3 * time.Second
	}
	if c.Batch == 0 {
		c.Batch = 500
	}
	if c.Lease == 0 {
		c.Lease = max(30*time.Second, 10*c.Every)
	}
	if c.Keep == 0 {
		c.Keep = 30 * 24 * time.Hour
	}
	if c.Timeout == 0 {
		c.Timeout = 250 * time.Millisecond
	}
	if c.Rest == 0 {
		c.Rest = time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.Timeout < 0:
		return fmt.Errorf("counter: Config.Timeout is %s; give a positive duration, or 0 for 250 ms", c.Timeout)
	case c.Rest < 0:
		return fmt.Errorf("counter: Config.Rest is %s; give a positive duration, or 0 for 1 s", c.Rest)
	case c.Every < 0:
		return fmt.Errorf("counter: Config.Every is %s; give a positive duration, or 0 for 3 s", c.Every)
	case c.Batch < 0 || c.Batch > maxBatch:
		return fmt.Errorf("counter: Config.Batch is %d; give 1 to %d, or 0 for 500", c.Batch, maxBatch)
	case c.Lease <= c.Every:
		return fmt.Errorf("counter: Config.Lease is %s and Every %s; give a longer lease, or 0 for 30 s", c.Lease, c.Every)
	case c.Keep < time.Hour:
		return fmt.Errorf("counter: Config.Keep is %s; give at least an hour, or 0 for 30 days", c.Keep)
	}
	return nil
}

// maxBatch is how many keys or rows one transaction may take at most.
const maxBatch = 4000
