// Package cli is the command line of the operator's tool.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace-go/millrace/cmd/millrace/internal/redact"
)

// Exit codes.
const (
	ExitOK          = 0
	ExitWrong       = 1
	ExitUsage       = 2
	ExitInterrupted = 130
)

// Streams are the inputs and outputs of a run.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Asks: In and Err are a terminal, so the tool can ask questions and draw progress over itself.
	Asks bool
	Env  func(name string) string
	// Edit lets a person change a file, for dlq edit without a payload; nil runs $VISUAL or
	// $EDITOR.
	Edit func(ctx context.Context, path string) error
	// LookUp is how long a completion asks a server, while its user waits; 1 s when 0.
	LookUp time.Duration
	// Answer is how long a command waits for the first answer of a database; 10 s when 0.
	Answer time.Duration
}

// Standard are the streams of the process.
func Standard() Streams {
	return Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Getenv,
		Asks: isatty.IsTerminal(os.Stdin.Fd()) && isatty.IsTerminal(os.Stderr.Fd()),
	}
}

// app is one run of the tool.
type app struct {
	Streams
	args    []string
	urls    []string // every URL of this run: their secrets are hidden in all output
	running bool     // the command line was understood
	verbose bool
	json    bool // of the command that runs, as is yes
	yes     bool
}

// usageError is a command line that cannot be carried out.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errWrong ends a command that has printed its error itself.
var errWrong = errors.New("something is wrong")

// Main runs the tool and returns its exit code.
func Main(ctx context.Context, args []string, streams Streams) int {
	a := &app{Streams: streams, args: args, urls: urlsIn(args, streams.Env)}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	cmd, err := root.ExecuteContextC(ctx)
	var wrongLine usageError
	switch {
	case err == nil:
		return ExitOK
	case ctx.Err() != nil:
		a.say("millrace: interrupted")
		return ExitInterrupted
	case errors.Is(err, errWrong):
		return ExitWrong
	case !a.running || errors.As(err, &wrongLine):
		a.say("millrace: %s\nRun '%s --help' for its usage and an example.", a.hide(err), cmd.CommandPath())
		return ExitUsage
	}
	a.say("millrace: %s", a.hide(err))
	return ExitWrong
}

// urlsIn are the URLs of a command line, in any position, and of the environment: an error
// may quote a URL that no command expected.
func urlsIn(args []string, env func(string) string) (urls []string) {
	for _, arg := range args {
		if flag, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(flag, "-") {
			arg = value
		}
		urls = append(urls, arg)
	}
	for _, name := range []string{dbVariable, busVariable, redisVariable} {
		urls = append(urls, env(name))
	}
	return slices.DeleteFunc(urls, func(u string) bool { return !strings.ContainsAny(u, ":@") })
}

// say prints a message on the standard error. If that fails, the error cannot be reported.
func (a *app) say(format string, args ...any) {
	_, _ = fmt.Fprintf(a.Err, format+"\n", args...)
}

// hide is an error's text without the secrets of the URLs.
func (a *app) hide(err error) string { return plainLines(redact.Text(err.Error(), a.urls...)) }

func (a *app) root() *cobra.Command {
	root := a.group(&cobra.Command{
		Use:   "millrace",
		Short: "The operator's tool of Millrace",
		Long: "millrace makes tables, looks into the outbox and into waiting rooms, looks after dead letters and consumer groups, says what is wrong with a server, and measures how fast it is.\n\n" +
			"URLs come by --db, --bus and --redis, or from MILLRACE_DB_URL, MILLRACE_BUS_URL and MILLRACE_REDIS_URL, where the process list does not show them.\n\n" +
			"Exit codes: 0 done, 1 something is wrong, 2 wrong usage, 130 interrupted.",
		Example:       "  export MILLRACE_DB_URL=postgres://app:secret@db/shop MILLRACE_BUS_URL=kafka://k1,k2,k3/\n  millrace doctor\n  millrace dlq list dlq.payment",
		SilenceErrors: true, SilenceUsage: true, Version: version(),
	}, a.migrateCommand(), a.outboxCommand(), a.dlqCommand(), a.groupCommand(), a.replayCommand(), a.queueCommand(), a.gateCommand(), a.doctorCommand(), a.benchCommand())
	root.AddCommand(a.completionCommand(root))
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" { // cobra's own, which takes any name
			cmd.Example = "  millrace help dlq redrive"
			cmd.Run, cmd.RunE = nil, func(_ *cobra.Command, args []string) error { return helpOf(root, args) }
		}
	}
	finish(root)
	root.SetFlagErrorFunc(noFlag)
	root.PersistentPreRun = func(*cobra.Command, []string) { a.running = true }
	root.PersistentFlags().BoolVarP(&a.verbose, "verbose", "v", false, "say what the transports log")
	return root
}

// finish keeps shells from offering file names for arguments and flags whose values no command
// completes.
func finish(cmd *cobra.Command) {
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if _, completes := cmd.GetFlagCompletionFunc(flag.Name); !completes && flag.NoOptDefVal == "" {
			offers(cmd, flag.Name)
		}
	})
	for _, under := range cmd.Commands() {
		finish(under)
	}
}

// version is the version of the binary's module.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown)"
}

// group makes a command that only has subcommands.
func (a *app) group(cmd *cobra.Command, under ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return noCommand(cmd, args[0])
		}
		if err := cmd.Help(); err != nil {
			return err
		}
		return usage("a command is missing")
	}
	cmd.AddCommand(under...)
	return cmd
}

// url returns a URL by its flag or from the environment.
func (a *app) url(flag, value, variable string) (string, error) {
	if value == "" {
		value = a.Env(variable)
	}
	if value == "" {
		return "", usage("give --%s, or set %s", flag, variable)
	}
	a.urls = append(a.urls, value)
	return value, nil
}

// logger is the logger of the transports.
func (a *app) logger() *slog.Logger {
	if !a.verbose {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(hiding{a}, nil))
}

// hiding writes log lines without the secrets of the URLs.
type hiding struct{ *app }

func (h hiding) Write(line []byte) (int, error) {
	if _, err := io.WriteString(h.Err, redact.Text(string(line), h.urls...)); err != nil {
		return 0, err
	}
	return len(line), nil
}

const (
	dbVariable    = "MILLRACE_DB_URL"
	busVariable   = "MILLRACE_BUS_URL"
	redisVariable = "MILLRACE_REDIS_URL"
)
