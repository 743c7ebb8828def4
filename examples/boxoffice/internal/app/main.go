package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/eventlog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
)

// Main is the command "boxoffice serve". It serves until ctx ends and returns
// the exit code: 0, 1 for a failure, 2 for wrong settings. wrapRelay is
// [Options.WrapRelay].
func Main(ctx context.Context, args []string, stdout, stderr io.Writer, wrapRelay func(message.Publisher) (message.Publisher, error)) int {
	cfg, err := config.Parse(args, os.Getenv, Schemes(), stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		complain(stderr, err)
		return 2
	}
	log := slog.New(eventlog.NewHandler(slog.NewTextHandler(stderr, nil)))
	a, err := New(cfg, Options{Version: Version(), Out: stdout, Logger: log, WrapRelay: wrapRelay})
	if err == nil {
		err = a.Run(ctx)
	}
	if err != nil {
		complain(stderr, err)
		return 1
	}
	return 0
}

func complain(w io.Writer, err error) {
	_, _ = fmt.Fprintln(w, "boxoffice:", err) // stderr may be closed
}

// Version is the program's version as its build knows it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return s.Value[:12]
		}
	}
	return "devel"
}
