package gatebench

import (
	"cmp"
	"fmt"
	"time"
)

// Config sizes a run. The zero value is the published one.
type Config struct {
	Redis  string        // URL, when there is no redis-server to start
	Rate   int           // requests a second of the open loop; 1,000
	Conns  int           // 64
	Span   time.Duration // of each load; 4 s
	People int           // of the crowd; 1,000,000
	Rounds int           // interleaved rounds; 5
}

func (c Config) withDefaults() Config {
	c.Rate = cmp.Or(c.Rate, 1000)
	c.Conns = cmp.Or(c.Conns, 64)
	c.People = cmp.Or(c.People, 1_000_000)
	c.Rounds = cmp.Or(c.Rounds, 5)
	c.Span = cmp.Or(c.Span, 4*time.Second)
	return c
}

func (c Config) validate() error {
	if n := c.requests(); n < c.Conns {
		return fmt.Errorf("%d requests a second for %s are %d, on %d connections; give a longer span", c.Rate, c.Span, n, c.Conns)
	}
	return nil
}

// requests is how many the open loop makes.
func (c Config) requests() int { return int(float64(c.Rate) * c.Span.Seconds()) }
