package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace-go/millrace/cmd/millrace/internal/gateway"
	"github.com/millrace-go/millrace/cmd/millrace/internal/redact"
)

func (a *app) gateCommand() *cobra.Command {
	var f gateFlags
	cmd := &cobra.Command{
		Use: "gate", Short: "Put a waiting room in front of a site",
		Long: "gate serves a waiting room before any site, which needs no change: as a reverse proxy before the URL of --to, or with --judge as the judge that nginx, Caddy, Traefik, HAProxy or Envoy asks about each request. " +
			"Visitors without a place get the waiting page and enter in the order of their arrival. docs/gate.md is its manual.\n\n" +
			"Each flag can also be set by a line of the file of --flags, or by the variable " + gateVariable + "… with its name in capitals; --redis by " + redisVariable + ". " +
			"SIGHUP reads the secrets, and the file of --flags, again. SIGTERM and Ctrl-C let the requests in flight complete.",
		Example: "  millrace gate --to http://127.0.0.1:3000 --event sale --threshold 500 --pass /static/**\n" +
			"  millrace gate --judge nginx --event sale --redis redis://cache/0 --secret-file /etc/millrace/secret --admin-listen 127.0.0.1:9090",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.gate(cmd, &f) },
	}
	f.add(cmd.Flags())
	offersURLs(cmd, "redis", redisSchemes()...)
	offersURLs(cmd, "to", "http", "https")
	offersURLs(cmd, "stock-url", "http", "https")
	offers(cmd, "judge", "nginx", "envoy", "forward", "none")
	offers(cmd, "trust-header", "X-Forwarded-For", "Forwarded")
	for _, name := range []string{"secret-file", "state", "settings", "flags"} {
		offersFiles(cmd, name)
	}
	return cmd
}

func (a *app) gate(cmd *cobra.Command, f *gateFlags) error {
	line := cmd.Flags()
	given := map[string]pflag.Value{} // by the command line itself, for reloads
	line.Visit(func(flag *pflag.Flag) { given[flag.Name] = flag.Value })
	if err := f.complete(line, a.Env); err != nil {
		return usageError{err}
	}
	a.urls = append(a.urls, f.urls()...)
	if err := f.check(); err != nil {
		return usageError{err}
	}
	f.Logger = a.gateLogger()
	if f.secret == "" && f.secretFile == "" {
		a.say("millrace gate: without --secret-file each start makes a new secret, and visitors begin again; a reload needs one")
	}
	server, err := gateway.Open(cmd.Context(), f.Settings)
	if err != nil {
		return byFlag(err)
	}
	if err := a.print("gate: http://%s", server.Addr()); err != nil {
		return err
	}
	if at := server.AdminAddr(); at != "" {
		if err := a.print("operators: http://%s", at); err != nil {
			return err
		}
	}
	signal.Ignore(syscall.SIGPIPE) // the end of what reads the log does not end the gate
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	reloads := make(chan os.Signal, 1)
	signal.Notify(reloads, syscall.SIGHUP)
	defer signal.Stop(reloads)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ctx.Done():
				return
			case <-reloads:
				a.reloadGate(server, f, given)
			}
		}
	}()
	err = server.Run(ctx)
	stop()
	<-ended
	return err
}

// reloadGate reads again what is not on the command line. A mistake leaves the gate as
// it is.
func (a *app) reloadGate(server *gateway.Server, was *gateFlags, given map[string]pflag.Value) {
	var f gateFlags
	flags := pflag.NewFlagSet("gate", pflag.ContinueOnError)
	f.add(flags)
	err := keepFlags(flags, given)
	if err == nil {
		err = f.complete(flags, a.Env)
	}
	if err == nil {
		f.Logger = was.Logger
		err = f.check()
	}
	if err == nil && f.secret == "" && f.secretFile == "" {
		f.Secrets = was.Secrets
	}
	if err == nil {
		err = server.Reload(f.Settings)
	}
	if err != nil {
		was.Logger.Error("the gate goes on as it is: the reload failed", slog.String("error", redact.Text(a.hide(byFlag(err)), f.urls()...)))
		return
	}
	was.Logger.Info("the gate has read its settings again", slog.Int("threshold", f.Threshold), slog.Int("secrets", len(f.Secrets)))
}

// keepFlags sets flags as the command line did.
func keepFlags(flags *pflag.FlagSet, given map[string]pflag.Value) error {
	for name, value := range given {
		flag := flags.Lookup(name)
		if flag == nil {
			continue // of every command
		}
		if many, ok := value.(pflag.SliceValue); ok {
			for _, one := range many.GetSlice() {
				if err := flags.Set(name, one); err != nil {
					return fmt.Errorf("--%s: %w", name, err)
				}
			}
			continue
		}
		if err := flags.Set(name, value.String()); err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
	}
	return nil
}

// gateLogger writes to the standard error: a gate runs for long, so it always says what
// goes wrong.
func (a *app) gateLogger() *slog.Logger {
	level := slog.LevelInfo
	if a.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(hiding{a}, &slog.HandlerOptions{Level: level}))
}
