package demo

import (
	"context"
	"io"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/command"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
)

// Main is the command "boxoffice demo". It returns the exit code: 0 when every
// check holds, 1 when one is broken or the run failed, 2 for wrong usage, 130
// when it was interrupted.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var cfg config
	return command.Main(ctx, "boxoffice demo", stderr, func() (err error) {
		cfg, err = parse(args, stderr)
		return err
	}, func(ctx context.Context, program string) int {
		cfg.program = program
		return run(ctx, cfg, screen.New(stdout, cfg.plain), stderr)
	})
}
