package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
)

// placeFlags set where a group begins.
type placeFlags struct {
	to        string
	since     when
	positions []string
}

func (p *placeFlags) of(cmd *cobra.Command) *cobra.Command {
	f := cmd.Flags()
	f.StringVar(&p.to, "to", "", "earliest: the first retained message; latest: behind the newest")
	f.Var(&p.since, "since", "the first message since then: RFC 3339, or 2h for two hours ago")
	f.StringSliceVar(&p.positions, "position", nil, "PARTITION:POSITION, as list shows them; other partitions stay where they are")
	offers(cmd, "to", "earliest", "latest")
	return cmd
}

// place reads the flags, and refuses a command line that has none or several.
func (p *placeFlags) place() (to bus.Place, err error) {
	given := 0
	for _, is := range []bool{p.to != "", !p.since.IsZero(), len(p.positions) > 0} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return to, usage("say where the group is to begin: one of --to earliest, --to latest, --since and --position")
	case p.to != "" && p.to != "earliest" && p.to != "latest":
		return to, usage("--to is %q; give earliest or latest, or --since for a time", p.to)
	}
	to.Latest, to.Since = p.to == "latest", p.since.Time
	for _, text := range p.positions {
		partition, at, _ := strings.Cut(text, ":")
		n, err := strconv.Atoi(partition)
		position, err2 := strconv.ParseInt(at, 10, 64)
		if errors.Join(err, err2) != nil || n < 0 || position < 0 {
			return to, usage("--position is %q; give PARTITION:POSITION, such as 0:1200", text)
		}
		if to.Positions == nil {
			to.Positions = map[int]int64{}
		}
		if _, twice := to.Positions[n]; twice {
			return to, usage("--position names partition %d twice", n)
		}
		to.Positions[n] = position
	}
	return to, nil
}

// text describes the place in words.
func (p *placeFlags) text() string {
	switch {
	case p.to == "earliest":
		return "the earliest message"
	case p.to == "latest":
		return "behind the newest message"
	case !p.since.IsZero():
		return moment(p.since.Time)
	}
	return "position " + strings.Join(p.positions, ", ")
}

func (a *app) groupResetCommand() *cobra.Command {
	var g groupFlags
	var p placeFlags
	var dryRun bool
	cmd := p.of(g.of(a, &cobra.Command{
		Use: "reset", Short: "Move a stopped group to another place of its topic",
		Long: "reset moves a group that has no members, back or ahead, and forgets what the transport keeps of its old position. " +
			"Messages that it skips are not delivered to the group. Idempotency keys stay as they are: consumers with a guard skip what they have handled. To have it handled again, see replay.",
		Example: "  millrace group reset --topic payment.events --group stats --to earliest --dry-run\n" +
			"  millrace group reset --topic payment.events --group stats --since 2026-03-01T12:00:00Z --yes\n" +
			"  millrace group reset --topic payment.events --group stats --position 0:1200,2:1187",
		RunE: func(cmd *cobra.Command, _ []string) error {
			to, err := p.place()
			if err == nil {
				err = g.validate()
			}
			if err != nil {
				return err
			}
			if !dryRun {
				if err := a.confirmable(); err != nil {
					return err
				}
			}
			return a.withBus(cmd.Context(), g.bus, g.topic, func(b *bus.Bus) error {
				return a.groupReset(cmd.Context(), b, g, to, p.text(), dryRun)
			})
		},
	}))
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "change nothing, say what would be delivered again and skipped")
	a.yesFlag(cmd, "do not ask")
	return cmd
}

// resetReport is the outcome for programs.
type resetReport struct {
	Topic   string `json:"topic"`
	Group   string `json:"group"`
	DryRun  bool   `json:"dryRun"`
	Again   int64  `json:"again"`   // messages that are delivered again
	Skipped int64  `json:"skipped"` // messages that are no longer delivered
}

func (a *app) groupReset(ctx context.Context, b *bus.Bus, g groupFlags, to bus.Place, where string, dryRun bool) error {
	if err := canMove(b); err != nil {
		return err
	}
	found, err := g.find(ctx, b)
	if err != nil {
		return err
	}
	if found.Live && !dryRun {
		return fmt.Errorf("group %s of %s: %w", plain(g.group), plain(g.topic), bus.ErrGroupLive)
	}
	moved, err := b.ResetGroup(ctx, g.topic, g.group, to, true)
	if err != nil {
		return err
	}
	if !dryRun {
		question := fmt.Sprintf("Move group %s of %s to %s? It gets %s again, and skips %s.", plain(g.group), plain(g.topic), where,
			counted(int(moved.Again), "message"), counted(int(moved.Skipped), "message"))
		if err := a.confirm(ctx, question); err != nil {
			return err
		}
		if moved, err = b.ResetGroup(ctx, g.topic, g.group, to, false); err != nil {
			return err
		}
	}
	would := "gets"
	if dryRun {
		would = "would get"
	}
	return a.answer(resetReport{g.topic, g.group, dryRun, moved.Again, moved.Skipped}, "the group %s %s again, and skips %s", would, counted(int(moved.Again), "message"), counted(int(moved.Skipped), "message"))
}

// canMove is the error about a transport whose groups cannot be moved.
func canMove(b *bus.Bus) error {
	if _, ok := b.Driver().(driver.GroupResetter); !ok {
		return fmt.Errorf("%s has no way to move a group", b.Name())
	}
	return nil
}

func (a *app) groupDeleteCommand() *cobra.Command {
	var g groupFlags
	cmd := g.of(a, &cobra.Command{
		Use: "delete", Short: "Delete a stopped group of a topic",
		Long: "delete removes a group that has no members, and all that the transport keeps of it. Its messages are kept for other groups until their retention is over; " +
			"on RabbitMQ, those that wait in the group's queues are lost. A consumer of that name makes the group anew, at the earliest retained message.",
		Example: "  millrace group delete --topic payment.events --group stats-old --bus kafka://k1,k2,k3/",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := g.validate(); err != nil {
				return err
			}
			if err := a.confirmable(); err != nil {
				return err
			}
			return a.withBus(cmd.Context(), g.bus, g.topic, func(b *bus.Bus) error { return a.groupDelete(cmd.Context(), b, g) })
		},
	})
	a.yesFlag(cmd, "do not ask")
	return cmd
}

// deleteReport is the outcome for programs.
type deleteReport struct {
	Topic   string `json:"topic"`
	Group   string `json:"group"`
	Deleted bool   `json:"deleted"`
}

func (a *app) groupDelete(ctx context.Context, b *bus.Bus, g groupFlags) error {
	what := fmt.Sprintf("Delete group %s of %s", plain(g.group), plain(g.topic))
	// If groups cannot be listed, the transport looks for the group by its name.
	if _, err := b.Topics(ctx); !errors.Is(err, errors.ErrUnsupported) {
		found, err := g.find(ctx, b)
		if err != nil {
			return err
		}
		what += fmt.Sprintf(", which has not acknowledged %s", counted(found.Messages, "message"))
	}
	if err := a.confirm(ctx, what+"?"); err != nil {
		return err
	}
	if err := b.DeleteGroup(ctx, g.topic, g.group); err != nil {
		return err
	}
	return a.answer(deleteReport{g.topic, g.group, true}, "deleted")
}
