package chaos

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/relayfault"
)

// config of one run, from flags.
type config struct {
	kills, relayKills  int
	concurrency        int
	seed               uint64
	minAlive, maxAlive time.Duration
	hold               time.Duration
	patience, drain    time.Duration
	plain, keep        bool

	// The program to start, and where data folders are made; tests start
	// themselves.
	program string
	prefix  []string
	temp    string
}

func parse(args []string, stderr io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&c.kills, "kills", 100, "how often the whole box office is killed")
	flags.IntVar(&c.relayKills, "relay-kills", 30, "how often the relay alone is killed between publish and cursor")
	flags.IntVar(&c.concurrency, "concurrency", 48, "how many fans act at a time")
	flags.Uint64Var(&c.seed, "seed", 0, "chooses the moments of the kills and what fans do; 0 draws one and prints it")
	flags.DurationVar(&c.minAlive, "min-alive", 20*time.Millisecond, "shortest life after being ready")
	flags.DurationVar(&c.maxAlive, "max-alive", 1500*time.Millisecond, "longest life after being ready")
	flags.DurationVar(&c.hold, "hold", 8*time.Second, "how long seats are held; whole seconds")
	flags.DurationVar(&c.patience, "patience", 2*time.Minute, "how long a fan waits for an answer or an outcome")
	flags.DurationVar(&c.drain, "drain", 2*time.Minute, "how long the box office may take to come to rest")
	flags.BoolVar(&c.plain, "plain", false, "print plain lines also on a terminal")
	flags.BoolVar(&c.keep, "keep", false, "keep the data folders and their logs")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if c.seed == 0 {
		c.seed = rand.Uint64N(1_000_000) + 1
	}
	return c, c.validate(flags.Args())
}

func (c config) validate(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case c.kills < 0 || c.relayKills < 0 || c.kills+c.relayKills == 0:
		return errors.New("--kills and --relay-kills: use 0 or more, and not 0 for both")
	case c.concurrency < 1 || c.concurrency > 10_000:
		return fmt.Errorf("--concurrency %d: use 1 to 10,000", c.concurrency)
	case c.minAlive < 0 || c.maxAlive < c.minAlive:
		return fmt.Errorf("--min-alive %v and --max-alive %v: the second must not be shorter", c.minAlive, c.maxAlive)
	case c.hold < time.Second || c.hold%time.Second != 0:
		return fmt.Errorf("--hold %v: use whole seconds, 1s or more", c.hold)
	case c.patience <= 0 || c.drain <= 0:
		return errors.New("--patience and --drain must be positive")
	}
	return nil
}

// moment is when one kill happens.
type moment struct {
	starting bool          // counted from the start, not from being ready
	after    time.Duration //
}

// moments draws the kills of one run. One in ten hits the start itself: the
// recovery of the last crash must survive a crash too.
func (c config) moments() []moment {
	draw := rand.New(rand.NewPCG(c.seed, 'k'))
	out := make([]moment, c.kills)
	for i := range out {
		m := moment{starting: draw.IntN(10) == 0}
		if m.starting {
			m.after = time.Duration(draw.Int64N(int64(150 * time.Millisecond)))
		} else {
			m.after = c.minAlive + time.Duration(draw.Int64N(int64(c.maxAlive-c.minAlive)+1))
		}
		out[i] = m
	}
	return out
}

// faults draws when each relay dies: every fourth one early, while it publishes the
// backlog of the last one; the others in the middle of their work.
func (c config) faults() []string {
	draw := rand.New(rand.NewPCG(c.seed, 'r'))
	out := make([]string, c.relayKills)
	for i := range out {
		out[i] = fmt.Sprintf("%s:%d", relayfault.AfterPublish, 1+draw.IntN(8))
		if i%4 > 0 {
			out[i] = fmt.Sprintf("%s:%dms", relayfault.AfterPublish, 50+draw.IntN(1500))
		}
	}
	return out
}
