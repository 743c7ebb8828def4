package gatebench

import (
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
	for _, f := range []struct {
		field   *int
		initial int
	}{{&c.Rate, 1000}, {&c.Conns, 64}, {&c.People, 1_000_000}, {&c.Rounds, 5}} {
		if *f.field == 0 {
			*f.field = f.initial
		}
	}
	if c.Span == 0 {
		c.Span = 4 * time.Second
	}
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
