package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/allbus"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/bus/redrive"
	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
	"github.com/millrace-go/millrace/internal/rawurl"
)

func (a *app) dlqCommand() *cobra.Command {
	return a.group(&cobra.Command{
		Use: "dlq", Short: "Look after dead letters on any transport",
		Long: "The dlq commands read the dead letter topic as the group \"redrive\", which every application declares for its dead letters: " +
			"what that group has not acknowledged is still to be looked at.",
		Example: "  millrace dlq list dlq.payment --bus kafka://k1,k2,k3/\n  millrace dlq redrive dlq.payment --reason API_5XX --rate 20",
	}, a.dlqListCommand(), a.dlqShowCommand(), a.dlqEditCommand(), a.dlqRedriveCommand(), a.dlqDropCommand())
}

// letterCommand gives a command on dead letters its --bus and --json, and completes the topic.
func (a *app) letterCommand(cmd *cobra.Command, bus *string) *cobra.Command {
	cmd.ValidArgsFunction = a.topics(bus)
	a.jsonFlag(cmd)
	return busFlag(cmd, bus)
}

// busFlag gives a command its --bus.
func busFlag(cmd *cobra.Command, bus *string) *cobra.Command {
	cmd.Flags().StringVar(bus, "bus", "", "URL of the transport (or "+busVariable+")")
	offersURLs(cmd, "bus", busSchemes()...)
	return cmd
}

// topicAnd requires a topic and then n arguments, -1 for any number.
func topicAnd(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) == 0 || args[0] == "":
			return errors.New("name the dead letter topic, such as dlq.payment or orders.DLT")
		case n >= 0 && len(args) < n+1:
			return fmt.Errorf("%s is missing", what)
		case n >= 0 && len(args) > n+1:
			return fmt.Errorf("%q is too much", args[n+1])
		}
		return nil
	}
}

// withLetters opens the transport and its dead letter topic, and calls do with it.
func (a *app) withLetters(ctx context.Context, flag, topic string, do func(letters) error) error {
	return a.withBus(ctx, flag, topic, func(b *bus.Bus) error {
		l, err := openLetters(ctx, b, topic)
		if err != nil {
			return err
		}
		return do(l)
	})
}

// transportOf refuses the URL of a transport that another program cannot open, and that of
// a missing file: opening it would create it.
func transportOf(raw string) error {
	if scheme, _, _ := strings.Cut(raw, "://"); strings.EqualFold(scheme, "mem") {
		return usage("mem:// ends with its process, and this is another one")
	}
	if dialect, err := database.DialectOf(raw); err == nil && dialect == database.SQLite {
		path, err := database.Path(raw)
		if err != nil {
			return usageError{err}
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no file %s", path)
		}
	}
	return nil
}

// openBus opens a transport of another program's messages, and asks its server, so that an
// operator does not wait for an absent one.
func (a *app) openBus(ctx context.Context, raw string) (*bus.Bus, error) {
	b, err := bus.Open(ctx, raw, allbus.Schemes(allbus.Config{Kafka: kafkabus.Config{ClientID: "millrace-tool"}, Logger: a.logger()})...)
	if errors.Is(err, bus.ErrUnknownScheme) {
		return nil, usageError{err}
	}
	if err != nil {
		return nil, err
	}
	if err := b.Ping(ctx); err != nil {
		return nil, errors.Join(rawurl.Hide(err, raw), b.Close())
	}
	return b, nil
}

// filterFlags choose letters.
type filterFlags struct {
	typ, reason, group, from wanted
	since, until             when
}

func (f *filterFlags) of(cmd *cobra.Command) *cobra.Command {
	flags := cmd.Flags()
	flags.Var(&f.typ, "type", "only events of this type")
	flags.Var(&f.reason, "reason", "only those that failed for this reason, such as PERMANENT or API_5XX")
	flags.Var(&f.group, "group", "only those that this group gave up")
	flags.Var(&f.from, "from", "only those that failed in this topic")
	flags.Var(&f.since, "since", "only those that failed since then: RFC 3339, or 2h for two hours ago")
	flags.Var(&f.until, "until", "only those that failed before then")
	offers(cmd, "reason", bus.ReasonPermanent, bus.ReasonExhausted, bus.ReasonPanic, bus.ReasonCrashed)
	return cmd
}

func (f *filterFlags) set() bool {
	return f.typ != "" || f.reason != "" || f.group != "" || f.from != "" || !f.since.IsZero() || !f.until.IsZero()
}

// filter makes the library's filter; ids may be nil.
func (f *filterFlags) filter(ids []string, all bool) redrive.Filter {
	if len(ids) == 0 {
		ids = nil
	}
	return redrive.Filter{
		All: all, IDs: ids, Type: string(f.typ), Reason: string(f.reason), Group: string(f.group), OriginalTopic: string(f.from),
		Since: f.since.Time, Until: f.until.Time,
	}
}

// wanted is a flag that chooses letters. An empty one, of a shell's variable that is not set, would
// choose all.
type wanted string

func (w *wanted) String() string { return string(*w) }

func (*wanted) Type() string { return "string" }

func (w *wanted) Set(text string) error {
	if text == "" {
		return errors.New("it is empty; give a value, or leave the flag out")
	}
	*w = wanted(text)
	return nil
}
