package gateway

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/signal"
	"syscall"
	"time"
)

// drainFor bounds the graceful end: requests take at most the latency.
const drainFor = 10 * time.Second

// Main is the command "boxoffice gateway". It prints the gateway's URL on one
// line, serves until ctx ends or the process is asked to stop, lets running
// requests finish, and returns the exit code: 0, 1 for a failure, 2 for wrong
// usage.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("gateway", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "127.0.0.1:0", "address to serve on; port 0 takes a free one")
	path := flags.String("ledger", "gateway.db", "SQLite file of the ledger; made when missing")
	low := flags.Duration("min-latency", 50*time.Millisecond, "shortest simulated latency")
	high := flags.Duration("max-latency", 300*time.Millisecond, "longest simulated latency; negative turns latency off")
	settle := flags.Duration("settle-after", 3*time.Second, "when a timed-out charge is approved")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0:
		_, _ = fmt.Fprintf(stderr, "boxoffice gateway: unexpected argument %q\n", flags.Arg(0))
		return 2
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if *low == 0 && *high == 0 {
		*high = -1 // asked for no latency, which is not the Config's zero value
	}
	if err := serve(ctx, *addr, Config{Path: *path, MinLatency: *low, MaxLatency: *high, SettleAfter: *settle}, stdout); err != nil {
		_, _ = fmt.Fprintln(stderr, "boxoffice gateway:", err)
		return 1
	}
	return 0
}

func serve(ctx context.Context, addr string, cfg Config, stdout io.Writer) (err error) {
	g, err := New(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("gateway: listen on %s: %w (take another --addr)", addr, err)
	}
	// No WriteTimeout: a held connection lives up to HoldFor by design.
	server := &http.Server{Handler: g.Handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() {
		defer cancel()
		served <- server.Serve(ln)
	}()
	_, _ = fmt.Fprintf(stdout, "http://%s\n", ln.Addr()) // a closed stdout is no reason not to serve
	if err := g.Run(ctx); err != nil {
		return err
	}
	drain, done := context.WithTimeout(context.WithoutCancel(ctx), drainFor)
	defer done()
	if err := server.Shutdown(drain); err != nil {
		return errors.Join(fmt.Errorf("gateway: requests still ran after %v: %w", drainFor, err), server.Close())
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("gateway: serve: %w", err)
	}
	return nil
}
