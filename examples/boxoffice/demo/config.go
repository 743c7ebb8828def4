package demo

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// config of one run, from flags.
type config struct {
	fans        int
	concurrency int
	seed        uint64
	hold        time.Duration
	think       time.Duration
	patience    time.Duration
	drain       time.Duration
	plain       bool
	keep        bool

	// The servers of the new office, and the number of its processes.
	dbURL, busURL, redisURL string
	split                   bool
	threshold               int

	// An office that runs already, instead of a new one.
	url, admin, gateway string

	// The program to start, and where the data folder is made; tests start
	// themselves.
	program string
	prefix  []string
	temp    string
}

// parse reads flags. FANS in the environment is the default of --fans.
func parse(args []string, stderr io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	fans := 200
	if text := os.Getenv("FANS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return c, fmt.Errorf("FANS=%q is no number: use FANS=200", text)
		}
		fans = n
	}
	flags.IntVar(&c.fans, "fans", fans, "how many fans come (or the environment's FANS)")
	flags.IntVar(&c.concurrency, "concurrency", 256, "how many fans act at a time")
	flags.Uint64Var(&c.seed, "seed", 1, "makes plans, choices and payment keys repeatable")
	flags.DurationVar(&c.hold, "hold", 8*time.Second, "how long seats are held; whole seconds")
	flags.DurationVar(&c.think, "think", 200*time.Millisecond, "longest pause of a fan between two steps")
	flags.DurationVar(&c.patience, "patience", 60*time.Second, "how long a fan waits for an answer or an outcome")
	flags.DurationVar(&c.drain, "drain", 60*time.Second, "how long the box office may take to come to rest")
	flags.BoolVar(&c.plain, "plain", false, "print plain lines also on a terminal")
	flags.BoolVar(&c.keep, "keep", false, "keep the data folder and its logs")
	flags.StringVar(&c.dbURL, "db-url", "", "an empty database for the new box office; default: a SQLite file of its own")
	flags.StringVar(&c.busURL, "bus-url", "", "transport of the new box office; default: the database's own")
	flags.StringVar(&c.redisURL, "redis-url", "", "Redis of the new box office; default: its waiting room is in one process")
	flags.IntVar(&c.threshold, "threshold", 0, "how many fans may be inside a show's sale at once; default: so few that a line forms")
	flags.BoolVar(&c.split, "split", false, "run two processes of each role; api and admitter are one without --redis-url")
	flags.StringVar(&c.url, "url", "", "use the box office that runs there instead of starting one")
	flags.StringVar(&c.admin, "admin-token", "", "admin token for --url (or BOXOFFICE_ADMIN_TOKEN)")
	flags.StringVar(&c.gateway, "gateway", "", "URL of the gateway that the box office of --url uses, to compare its ledger")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	c.admin = cmp.Or(c.admin, os.Getenv("BOXOFFICE_ADMIN_TOKEN"))
	return c, c.validate(flags.Args())
}

// places is the capacity of a show's sale: by default three for each eight concurrent
// fans of one of the five shows.
func (c config) places() int {
	if c.threshold > 0 {
		return c.threshold
	}
	return max(1, min(c.fans, c.concurrency)*3/(5*8))
}

// told reports whether members get live events: workers in another process than the
// streams reach them through Redis only.
func (c config) told() bool { return !c.split || c.redisURL != "" }

func (c config) validate(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case c.fans < 1 || c.fans > 1_000_000:
		return fmt.Errorf("--fans %d: use 1 to 1,000,000", c.fans)
	case c.concurrency < 1 || c.concurrency > 10_000:
		return fmt.Errorf("--concurrency %d: use 1 to 10,000", c.concurrency)
	case c.hold < time.Second || c.hold%time.Second != 0:
		return fmt.Errorf("--hold %v: use whole seconds, 1s or more", c.hold)
	case c.think < 0 || c.patience <= 0 || c.drain <= 0:
		return errors.New("--think, --patience and --drain must be positive")
	case c.url != "" && c.admin == "":
		return errors.New("--url needs --admin-token (or BOXOFFICE_ADMIN_TOKEN): only an operator sees the invariants")
	case c.url != "" && (c.dbURL != "" || c.busURL != "" || c.redisURL != "" || c.threshold != 0 || c.split):
		return errors.New("--db-url, --bus-url, --redis-url, --threshold and --split are for a new box office; --url names one that runs")
	case c.threshold < 0:
		return fmt.Errorf("--threshold %d: use 1 or more", c.threshold)
	case c.split && strings.HasPrefix(c.busURL, "mem://"):
		return errors.New("--split needs a transport that processes share; mem:// stays inside one")
	case c.url == "" && c.gateway != "":
		return errors.New("--gateway goes with --url")
	}
	return nil
}
