package limitproof

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/millrace-go/millrace/ratelimit"
)

// config of one run, from flags.
type config struct {
	seconds, workers int
	acts             []act
	seed             uint64
	redisServer      string
	plain, keep      bool

	hard, rate, low int           // calls per second: the upstream's limit, all, low priority
	lead            time.Duration // passes at the beginning of an act before rates are measured

	// The program to start, and where the folder is made; tests start themselves.
	program string
	prefix  []string
	temp    string
}

func parse(args []string, stderr io.Writer) (config, error) {
	c := config{hard: 500, rate: 450, low: 350, lead: time.Second}
	flags := flag.NewFlagSet("limit-proof", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&c.seconds, "seconds", 10, "how long each act is measured")
	flags.IntVar(&c.workers, "workers", 10, "how many processes share the budget")
	names := flags.String("acts", "all", "which acts, separated by commas: "+strings.Join(actKeys(), ", "))
	flags.Uint64Var(&c.seed, "seed", 0, "chooses the moments of what goes wrong; 0 draws one and prints it")
	flags.StringVar(&c.redisServer, "redis-server", "redis-server", "the Redis to start: a path, or a name in PATH")
	flags.BoolVar(&c.plain, "plain", false, "print plain lines also on a terminal")
	flags.BoolVar(&c.keep, "keep", false, "keep the folder with the log and Redis' data")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if c.seed == 0 {
		c.seed = rand.Uint64N(1_000_000) + 1
	}
	if flags.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	var err error
	if c.acts, err = actsOf(*names); err != nil {
		return c, err
	}
	return c, c.validate()
}

func (c config) validate() error {
	switch {
	case c.seconds < 1 || c.seconds > 3600:
		return fmt.Errorf("--seconds %d: use 1 to 3600", c.seconds)
	case c.workers < 1 || c.workers > 40:
		return fmt.Errorf("--workers %d: use 1 to 40", c.workers)
	}
	for _, a := range c.acts {
		if _, err := a.limits(c).Plan(); err != nil {
			return fmt.Errorf("--workers %d: %w", c.workers, err)
		}
	}
	if _, err := exec.LookPath(c.redisServer); err != nil {
		return errors.New("there is no redis-server to start: install one (Debian and Ubuntu: apt install redis-server; macOS: brew install redis), or name it with --redis-server")
	}
	return nil
}

// actsOf finds acts by their keys, in the order of the proof.
func actsOf(text string) ([]act, error) {
	all := everyAct()
	if text == "all" {
		return all, nil
	}
	keys := strings.Split(text, ",")
	for i := range keys {
		keys[i] = strings.TrimSpace(keys[i])
		if !slices.Contains(actKeys(), keys[i]) {
			return nil, fmt.Errorf("--acts: %q is unknown: use %s, or all", keys[i], strings.Join(actKeys(), ", "))
		}
	}
	return slices.DeleteFunc(all, func(a act) bool { return !slices.Contains(keys, a.key) }), nil
}

// within is how long an act is measured.
func (c config) within(a act) time.Duration {
	return max(time.Duration(c.seconds)*time.Second, a.least)
}

// budget has the limits of the workers, in all acts whose arithmetic holds.
func (c config) budget() ratelimit.Limits {
	return ratelimit.Limits{HardLimit: c.hard, Rate: c.rate, LowRate: c.low, Delay: delay, Processes: c.workers}
}

// delay is how long a permit lasts. The default leaves ten processes a burst of 31,
// the permits of 69 ms.
const delay = 20 * time.Millisecond
