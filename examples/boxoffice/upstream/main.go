package upstream

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os/signal"
	"syscall"
	"time"
)

// Main is the command "boxoffice upstream". It prints the upstream's URL on one
// line, serves until ctx ends or the process is asked to stop, lets running
// requests finish, and returns the exit code: 0, 1 for a failure, 2 for wrong
// usage.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("upstream", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "127.0.0.1:0", "address to serve on; port 0 takes a free one")
	var cfg Config
	flags.IntVar(&cfg.BodyBytes, "body-bytes", 300_000, "size of an artist")
	flags.IntVar(&cfg.Limit, "limit", 500, "calls that a window of one second may hold")
	flags.DurationVar(&cfg.BanFor, "ban-for", 10*time.Second, "how long everything is refused after a violation")
	flags.Int64Var(&cfg.DailyBudget, "daily-budget", 20_000_000, "calls that a day (UTC) may hold")
	flags.DurationVar(&cfg.Latency, "latency", 0, "time before every answer")
	flags.DurationVar(&cfg.Jitter, "jitter", 0, "up to this much more latency, drawn evenly")
	flags.DurationVar(&cfg.ReviseEvery, "revise-every", 0, "changes every artist once in this time; 0: only when told to")
	flags.IntVar(&cfg.LogCalls, "log-calls", 2_000_000, "how many of the newest calls the log keeps")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0:
		_, _ = fmt.Fprintf(stderr, "boxoffice upstream: unexpected argument %q\n", flags.Arg(0))
		return 2
	}
	if err := checkFlags(cfg); err != nil {
		_, _ = fmt.Fprintln(stderr, "boxoffice upstream:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := listenAndServe(ctx, *addr, cfg, stdout); err != nil {
		_, _ = fmt.Fprintln(stderr, "boxoffice upstream:", err)
		return 1
	}
	return 0
}

// checkFlags is Config.validate in the words of the command line, where a typed 0 is
// no default.
func checkFlags(cfg Config) error {
	switch {
	case cfg.BodyBytes < minBody || cfg.BodyBytes > maxBody:
		return fmt.Errorf("--body-bytes %d is out of range: use %d to %d", cfg.BodyBytes, minBody, maxBody)
	case cfg.Limit < 1:
		return fmt.Errorf("--limit %d is out of range: use 1 or more calls a second", cfg.Limit)
	case cfg.BanFor <= 0:
		return fmt.Errorf("--ban-for %v is out of range: use a time above 0 such as 10s", cfg.BanFor)
	case cfg.DailyBudget < 1:
		return fmt.Errorf("--daily-budget %d is out of range: use 1 or more calls a day", cfg.DailyBudget)
	case cfg.Latency < 0:
		return fmt.Errorf("--latency %v is negative: use 0 or more", cfg.Latency)
	case cfg.Jitter < 0:
		return fmt.Errorf("--jitter %v is negative: use 0 or more", cfg.Jitter)
	case cfg.ReviseEvery != 0 && cfg.ReviseEvery < time.Second:
		return fmt.Errorf("--revise-every %v is too short: use 1s or more, or 0 for only when told to", cfg.ReviseEvery)
	case cfg.LogCalls < 1:
		return fmt.Errorf("--log-calls %d is out of range: use 1 or more", cfg.LogCalls)
	}
	return nil
}

func listenAndServe(ctx context.Context, addr string, cfg Config, stdout io.Writer) error {
	u, err := New(cfg)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("upstream: listen on %s: %w (take another --addr)", addr, err)
	}
	_, _ = fmt.Fprintf(stdout, "http://%s\n", ln.Addr()) // a closed stdout is no reason not to serve
	return u.Serve(ctx, ln)
}
