// Command boxoffice is a ticket box office that uses the packages of Millrace
// the way a team would. Without a command it serves; see --help.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/examples/boxoffice/demo"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/app"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/gateway"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/mirrorrun"
	"github.com/millrace-go/millrace/examples/boxoffice/relayfault"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	ctx, stop := interruptible()
	defer stop()
	name := "serve"
	if len(args) > 0 && len(args[0]) > 0 && args[0][0] != '-' {
		name, args = args[0], args[1:]
	}
	switch name {
	case "serve":
		return app.Main(ctx, args, os.Stdout, os.Stderr, wrapRelay)
	case "gateway":
		return gateway.Main(ctx, args, os.Stdout, os.Stderr)
	case "upstream":
		return upstream.Main(ctx, args, os.Stdout, os.Stderr)
	case "demo":
		return demo.Main(ctx, args, os.Stdout, os.Stderr)
	case "mirror-run":
		return mirrorrun.Main(ctx, args, os.Stdout, os.Stderr)
	case "version":
		fmt.Println("boxoffice", app.Version())
		return 0
	}
	fmt.Fprintf(os.Stderr, "boxoffice: unknown command %q; known are: serve, gateway, upstream, demo, mirror-run, version\n", name)
	return 2
}

// wrapRelay makes the relay of a chaos run die between publish and cursor.
func wrapRelay(pub message.Publisher) (message.Publisher, error) {
	return relayfault.Publisher(pub, os.Getenv(relayfault.Env))
}

// interruptible returns a context that ends with the first SIGINT or SIGTERM.
// The second ends the process.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(130)
	}()
	return ctx, func() { signal.Stop(signals); cancel() }
}
