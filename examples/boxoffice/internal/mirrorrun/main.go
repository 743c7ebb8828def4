package mirrorrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/command"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
)

// Main is the command "boxoffice mirror-run". It returns the exit code: 0 when all
// requirements hold, 1 when one does not or the run failed, 2 for wrong usage, 130
// when it was interrupted.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var cfg settings
	return command.Main(ctx, "boxoffice mirror-run", stderr, func() (err error) {
		cfg, err = parse(args, os.Getenv, stderr)
		return err
	}, func(ctx context.Context, program string) int {
		cfg.program = program
		return run(ctx, cfg, screen.New(stdout, cfg.plain), stderr)
	})
}

func run(ctx context.Context, cfg settings, out *screen.Screen, stderr io.Writer) int {
	dir, err := perform(ctx, cfg, out)
	code := command.OK
	switch {
	case ctx.Err() != nil:
		code = command.Interrupted
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "boxoffice mirror-run: %v\n", err)
		code = command.Broken
	}
	if dir != "" && (cfg.keep || code == command.Broken) {
		out.Print("Data folder and log: %s\n", dir)
	} else if dir != "" {
		if err := os.RemoveAll(dir); err != nil {
			_, _ = fmt.Fprintf(stderr, "boxoffice mirror-run: %v\n", err)
		}
	}
	return code
}

// perform opens an office, measures it and reports.
func perform(ctx context.Context, cfg settings, out *screen.Screen) (dir string, err error) {
	o, err := open(ctx, cfg)
	defer func() { err = errors.Join(err, o.close()) }()
	if err != nil {
		return o.dir, err
	}
	r, err := measure(ctx, cfg, o, out.Print)
	if err != nil {
		return o.dir, err
	}
	return o.dir, r.report(out)
}
