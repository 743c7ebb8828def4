package mirrorrun

import (
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/millrace-go/millrace/bus/driver/kit"
)

// settings of one run, from flags.
type settings struct {
	seconds, rest           int
	bodyBytes               int
	latency                 time.Duration
	high, low               int
	dbURL, busURL, redisURL string
	plain, keep             bool

	// How long the load lasts before it is measured, and how long the upstream must be
	// idle for the mirror to be at rest: longer than a lag is old.
	ramp, calm time.Duration

	// The program to start the upstream with, and where the data folder is made;
	// tests start themselves.
	program string
	prefix  []string
	temp    string
}

func parse(args []string, getenv func(string) string, stderr io.Writer) (settings, error) {
	c := settings{ramp: 5 * time.Second, calm: 6 * time.Second}
	flags := flag.NewFlagSet("mirror-run", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&c.seconds, "seconds", 60, "how long the mirror works at its budget")
	flags.IntVar(&c.rest, "rest", 10, "how many seconds reads are timed for, at rest, while the broker is slow, and while Redis is away")
	flags.IntVar(&c.bodyBytes, "body-bytes", 300_000, "size of an artist at the upstream")
	flags.DurationVar(&c.latency, "latency", 50*time.Millisecond, "how long the upstream thinks")
	flags.IntVar(&c.high, "high", 200, "reads a second that want a refresh")
	flags.IntVar(&c.low, "low", 400, "refreshes a second that prefetch asks for")
	flags.StringVar(&c.dbURL, "db-url", getenv("BOXOFFICE_DB_URL"), "an empty database; default: a SQLite file of its own")
	flags.StringVar(&c.busURL, "bus-url", getenv("BOXOFFICE_BUS_URL"), "transport; default: the database's own")
	flags.StringVar(&c.redisURL, "redis-url", getenv("BOXOFFICE_REDIS_URL"), "Redis; default: in this process")
	flags.BoolVar(&c.plain, "plain", false, "print plain lines also on a terminal")
	flags.BoolVar(&c.keep, "keep", false, "keep the data folder and the log")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if c.redisURL == "embedded://" {
		c.redisURL = ""
	}
	return c, c.validate(flags.Args())
}

func (c settings) validate(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case c.seconds < 1 || c.seconds > 3600:
		return fmt.Errorf("--seconds %d: use 1 to 3600", c.seconds)
	case c.rest < 1 || c.rest > 600:
		return fmt.Errorf("--rest %d: use 1 to 600", c.rest)
	case c.bodyBytes < 2_000 || c.bodyBytes > 1<<20:
		return fmt.Errorf("--body-bytes %d: use 2000 to %d", c.bodyBytes, 1<<20)
	case c.latency < 0 || c.latency > 4*time.Second:
		return fmt.Errorf("--latency %v: use 0 to 4s", c.latency)
	case c.high < 1 || c.high > 1000:
		return fmt.Errorf("--high %d: use 1 to 1000", c.high)
	case c.low < 1 || c.low > 1000:
		return fmt.Errorf("--low %d: use 1 to 1000", c.low)
	case c.redisURL == "":
		return nil
	}
	// One server: a proxy before it makes it unreachable.
	if u, err := kit.ParseURL(c.redisURL); err != nil || u.Scheme != "redis" || u.Host == "" || strings.Contains(u.Host, ",") || u.RawQuery != "" {
		return fmt.Errorf("--redis-url: write redis://host:6379/0, of one server; its connections pass through this process")
	}
	return nil
}
