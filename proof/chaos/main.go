package chaos

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/command"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
)

// Main is the command of make chaos. It returns the exit code: 0 when every
// check holds after every kill, 1 when one is broken or the run failed, 2 for
// wrong usage, 130 when it was interrupted.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var cfg config
	return command.Main(ctx, "chaos", stderr, func() (err error) {
		cfg, err = parse(args, stderr)
		return err
	}, func(ctx context.Context, _ string) int {
		dir, err := os.MkdirTemp("", "chaos-program-")
		if err == nil {
			defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
			cfg.program, err = launch.Build(ctx, dir, launch.Boxoffice)
		}
		if err != nil {
			_, _ = fmt.Fprintln(stderr, "chaos:", err)
			return command.Broken
		}
		return run(ctx, cfg, screen.New(stdout, cfg.plain), stderr)
	})
}

// act is one way to kill, repeated.
type act struct {
	name    string
	times   int
	play    func(ctx context.Context, s *stage) error
	tested  string // the check that the kills hit something
	repeats int    // how many messages they must have caused to be published again
	hold    time.Duration
}

// run plays the acts one after the other, each on a stage of its own.
func run(ctx context.Context, cfg config, out *screen.Screen, stderr io.Writer) int {
	acts := []act{
		// A kill at random seldom falls between publish and cursor.
		{"kill -9 of the whole box office", cfg.kills, killAll, "the transport was in use", 0, cfg.hold},
		// After each death the next relay waits seconds for the dead one's lease. Holds
		// last longer here, or no payment would be in time.
		{"the relay dies between publish and cursor", cfg.relayKills, killRelay, "every death left a message to repeat", cfg.relayKills, 3 * cfg.hold},
	}
	code := command.OK
	for _, a := range acts {
		if a.times == 0 {
			continue
		}
		out.Print("\n%s, %d times (seed %d)\n", out.Strong(a.name), a.times, cfg.seed)
		got, err := perform(ctx, cfg, a, out)
		if err != nil {
			_, _ = fmt.Fprintf(stderr, "chaos: %s: %v\n", a.name, err)
		}
		if got == command.Interrupted {
			return got
		}
		code = max(code, got)
	}
	return code
}
