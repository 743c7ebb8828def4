package demo

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/demo/screen"
)

// The exit codes of [Main].
const (
	exitOK          = 0
	exitBroken      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// Main is the command "boxoffice demo". It returns the exit code: 0 when every
// check holds, 1 when one is broken or the run failed, 2 for wrong usage, 130
// when it was interrupted.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cfg, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		_, _ = fmt.Fprintln(stderr, "boxoffice demo:", err)
		return exitUsage
	}
	if cfg.program, err = os.Executable(); err != nil {
		_, _ = fmt.Fprintln(stderr, "boxoffice demo: find the program to start:", err)
		return exitBroken
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	return run(ctx, cfg, screen.New(stdout, cfg.plain), stderr)
}
