// Command bench runs the benchmarks beside their peers, prints the ratios, saves
// the results of each section, and makes the report of them.
//
//	go run ./proof/cmd/bench [-only outbox,kafka] [-rounds 5] [-rows 50000] [-seconds 5]
//	go run ./proof/cmd/bench -report     # proof/REPORT.md, its plots and the figures of README.md and docs, of the saved results
//	go run ./proof/cmd/bench -list       # the sections, and how long each takes
//	go run ./proof/cmd/bench -quick      # everything works: small, saved nowhere
//
// It needs the servers of its sections, by the same environment variables as the
// tests; `make bench` starts them. With uncommitted changes in the tree it refuses
// to run, before anything is measured, unless -dirty says to mark the results. An
// interruption (Ctrl-C) removes the section's leftovers from the servers; the
// sections before it are saved.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/millrace-go/millrace/proof/gatebench"
	"github.com/millrace-go/millrace/proof/limitbench"
	"github.com/millrace-go/millrace/proof/outboxbench"
	"github.com/millrace-go/millrace/proof/ssebench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the process
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "bench: interrupted:", err)
		os.Exit(130)
	}
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(1)
}

func run(ctx context.Context, args []string, out io.Writer) error {
	s := servers()
	if len(args) > 0 {
		switch args[0] { // a part of a measurement, in a process of its own
		case "appender":
			return outboxbench.Appender(ctx, outboxbench.Config{URL: s[postgres], MariaDB: s[mariadb], MySQL: s[mysql]}, args[1:], out)
		case ssebench.Part:
			return ssebench.Take(ctx, args[1:], os.Stdin, out)
		case limitbench.Part:
			return limitbench.Take(ctx, args[1:], os.Stdin, out)
		case gatebench.Part:
			return gatebench.Take(ctx, os.Stdin, out)
		case gatebench.PartBare:
			return gatebench.TakeBare(ctx, args[1:])
		}
	}
	o := options{servers: s, root: "."}
	var report, list bool
	only := o.flags(&report, &list)
	if err := o.set.Parse(args); err != nil {
		return err
	}
	if o.set.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; settings are flags, see -help", o.set.Arg(0))
	}
	if err := o.validate(); err != nil {
		return err
	}
	chosen, err := choose(sections(), *only)
	if err != nil {
		return err
	}
	switch {
	case list:
		return write(out, chosen)
	case report:
		return o.makeReport(out)
	}
	return o.runAll(ctx, chosen, out)
}
