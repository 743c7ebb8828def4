// Package command has the common parts of the commands that start a box office: exit
// codes, the program to start, and Ctrl-C.
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

// Main parses and runs the command "boxoffice <name>" and returns its exit
// code. run is given a context that ends with the first Ctrl-C, and the path of
// this program, to start box offices with.
func Main(ctx context.Context, name string, stderr io.Writer, parse func() error, run func(ctx context.Context, program string) int) int {
	err := parse()
	switch {
	case errors.Is(err, flag.ErrHelp):
		return OK
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "boxoffice %s: %v\n", name, err)
		return Usage
	}
	program, err := os.Executable()
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "boxoffice %s: find the program to start: %v\n", name, err)
		return Broken
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	return run(ctx, program)
}
