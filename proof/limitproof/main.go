package limitproof

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/command"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream"
)

// Main is the command of make limit-proof. It returns the exit code: 0 when
// every limit holds in every act and the one that is broken on purpose is
// noticed, 1 when not or when the run failed, 2 for wrong usage, 130 when it was
// interrupted.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	switch { // this program is also its own upstream and workers
	case len(args) == 1 && args[0] == workerRole:
		return work(ctx, stdout, stderr)
	case len(args) > 0 && args[0] == upstreamRole:
		return upstream.Main(ctx, args[1:], stdout, stderr)
	}
	logging.Disable() // the client's own log about an unreachable server
	var cfg config
	return command.Main(ctx, "limit-proof", stderr, func() (err error) {
		cfg, err = parse(args, stderr)
		return err
	}, func(ctx context.Context, program string) int {
		cfg.program = program
		return run(ctx, cfg, screen.New(stdout, cfg.plain), stderr)
	})
}

// tries is how often an act is played that missed its goal, or in which the simulator
// was late. An act with a violation is never tried again.
const tries = 3

// run plays the acts one after the other on one stage.
func run(ctx context.Context, cfg config, out *screen.Screen, stderr io.Writer) (code int) {
	text, err := preface(cfg, out.Width())
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "limit-proof:", err)
		return command.Usage
	}
	out.Print("%s\n", text)
	s := &stage{cfg: cfg}
	defer func() {
		keep := cfg.keep || code == command.Broken
		if err := s.close(keep); err != nil && code != command.Interrupted {
			_, _ = fmt.Fprintln(stderr, "limit-proof:", err)
			code = command.Broken
		}
		if s.dir != "" && keep {
			out.Print("Log and Redis' data: %s\n", s.dir)
		}
	}()
	started := time.Now()
	rows, err := playAll(ctx, s, out)
	if len(rows) > 0 {
		out.Print("\n%s\n%s", table(cfg, rows), remarks(rows, out.Width()))
	}
	switch {
	case ctx.Err() != nil:
		out.Print("Interrupted: what was not played was not judged.\n")
		return command.Interrupted
	case err != nil:
		_, _ = fmt.Fprintln(stderr, "limit-proof:", err)
		return command.Broken
	}
	if judge.Conclude(out, checks(rows)) != nil {
		return command.Broken
	}
	out.Print("%s\n", conclusion(cfg, rows, time.Since(started)))
	return command.OK
}

// playAll plays every act until it is decided, and returns the finished rows also
// with an error.
func playAll(ctx context.Context, s *stage, out *screen.Screen) ([]row, error) {
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	var rows []row
	for i, a := range s.cfg.acts {
		for try := 1; ; try++ {
			r := row{try: try}
			title := fmt.Sprintf("act %d of %d: %s", i+1, len(s.cfg.acts), row{outcome: outcome{act: a}, try: try}.name())
			err := watched(out, title, s.cfg.lead+s.cfg.within(a), func() (err error) {
				r.outcome, err = s.play(ctx, a)
				return err
			})
			if err != nil {
				return rows, fmt.Errorf("%s: %w", a.key, err)
			}
			r.verdict = decide(s.cfg, r.outcome)
			rows = append(rows, r)
			if decided(r) {
				break
			}
		}
	}
	return rows, nil
}

// decided reports whether another try is of no use.
func decided(r row) bool {
	return r.verdict.ok() || len(r.verdict.violations) > 0 || r.try >= tries
}

// watched runs an act and shows how far it is.
func watched(out *screen.Screen, title string, lasts time.Duration, play func() error) error {
	ended := make(chan error, 1)
	started := time.Now()
	go func() { ended <- play() }()
	if !out.Live() {
		out.Print("%s\n", title)
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		part := min(1, time.Since(started).Seconds()/lasts.Seconds())
		out.Draw([]string{fmt.Sprintf("%s %s", screen.Bar(part, 20), title)})
		select {
		case err := <-ended:
			if out.Live() && err == nil {
				out.Print("%s\n", title)
			}
			return err
		case <-tick.C:
		}
	}
}
