// Package command has the common parts of the programs that prove: exit codes, the
// program to start, and Ctrl-C.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// The exit codes.
const (
	OK          = 0
	Broken      = 1 // a check is broken, or the run failed
	Usage       = 2
	Interrupted = 130
)

// Main parses and runs a command, and returns its exit code. name stands before its
// errors. run is given a context that ends with the first Ctrl-C, and the path of this
// program, to start more of it.
func Main(ctx context.Context, name string, stderr io.Writer, parse func() error, run func(ctx context.Context, program string) int) int {
	err := parse()
	switch {
	case errors.Is(err, flag.ErrHelp):
		return OK
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return Usage
	}
	program, err := os.Executable()
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "%s: find the program to start: %v\n", name, err)
		return Broken
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	return run(ctx, program)
}

// Run is Main for a command that prints its errors on standard error.
func Run(flags *flag.FlagSet, args []string, run func(ctx context.Context) error) int {
	return Main(context.Background(), flags.Name(), os.Stderr, func() error { return flags.Parse(args) }, func(ctx context.Context, _ string) int {
		err := run(ctx)
		switch {
		case err == nil:
			return OK
		case ctx.Err() != nil:
			_, _ = fmt.Fprintf(os.Stderr, "%s: interrupted: what was not finished was not judged\n", flags.Name())
			return Interrupted
		}
		_, _ = fmt.Fprintf(os.Stderr, "%s: %v\n", flags.Name(), err)
		return Broken
	})
}
