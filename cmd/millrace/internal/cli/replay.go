package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
)

// replayFlags choose the events to replay, and the group.
type replayFlags struct {
	groupFlags
	keyFlags
	since         when
	as            string
	again, dryRun bool
}

func (a *app) replayCommand() *cobra.Command {
	var r replayFlags
	cmd := r.keyFlags.of(r.groupFlags.of(a, &cobra.Command{
		Use: "replay", Short: "Have a group get the events since a time again",
		Long: "replay moves a group without members back to a time, and never ahead; with --as it puts a new group there beside it, and refuses one that exists and would move ahead. " +
			"Consumers with a guard skip what they have handled: replay says how many events that are, by the keys {group}:{eventId} in the stores that --keys names. " +
			"With --again it forgets these keys for the events that it reads from the interval, and then moves the group. " +
			"In that order, an interruption loses nothing: the group stands where it stood, and the same command forgets the rest and moves it. " +
			"A group that was moved first could skip an event whose key is forgotten too late. Keys of another form, such as those by aggregate, stay.",
		Example: "  millrace replay --topic payment.events --group stats --since 2h --keys postgres://app:secret@db/shop --dry-run\n" +
			"  millrace replay --topic payment.events --group stats --since 2026-03-01T12:00:00Z --keys postgres://app:secret@db/shop --again\n" +
			"  millrace replay --topic payment.events --group stats --since 72h --as stats-v2",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := r.check(); err != nil {
				return err
			}
			if !r.dryRun {
				if err := a.confirmable(); err != nil {
					return err
				}
			}
			return a.withBus(cmd.Context(), r.bus, r.topic, func(b *bus.Bus) error { return a.replay(cmd.Context(), b, r) })
		},
	}))
	f := cmd.Flags()
	f.Var(&r.since, "since", "the first event that is delivered again: RFC 3339, or 2h for two hours ago")
	f.StringVar(&r.as, "as", "", "a new group that gets the events, instead of --group")
	f.BoolVar(&r.again, "again", false, "forget the group's keys of these events, so that they are handled again")
	f.BoolVar(&r.dryRun, "dry-run", false, "change nothing, say what would be done")
	a.yesFlag(cmd, "do not ask")
	return cmd
}

func (r *replayFlags) check() error {
	if err := r.groupFlags.validate(); err != nil {
		return err
	}
	switch {
	case r.since.IsZero():
		return usage("--since is missing; give the time of the first event, or 2h for two hours ago")
	case r.as == r.group:
		return usage("--as is the group itself; give another name, or leave --as out to move the group back")
	case r.again && len(r.urls) == 0:
		return usage("--again forgets idempotency keys; name their store with --keys")
	}
	return r.keyFlags.validate()
}

// replayReport is the outcome for programs.
type replayReport struct {
	Topic     string    `json:"topic"`
	Group     string    `json:"group"` // that gets the events
	Since     time.Time `json:"since"`
	DryRun    bool      `json:"dryRun"`
	Events    int       `json:"events"`    // in the interval
	Others    int       `json:"others"`    // messages in the interval that are not events, and have no keys
	Recorded  *int      `json:"recorded"`  // events with a key of the group; null when it was not counted
	Forgotten int       `json:"forgotten"` // keys
	Again     int64     `json:"again"`     // messages that are delivered again; 0 for a new group
	Error     string    `json:"error,omitempty"`
}

func (a *app) replay(ctx context.Context, b *bus.Bus, r replayFlags) (err error) {
	out := replayReport{Topic: r.topic, Group: cmp.Or(r.as, r.group), Since: r.since.UTC(), DryRun: r.dryRun}
	if err := canMove(b); err != nil {
		return err
	}
	there, err := r.target(ctx, b)
	if err != nil {
		return err
	}
	stores, err := a.openKeys(ctx, r.keyFlags)
	if err != nil {
		return err
	}
	defer closing(stores.close, &err)

	to := bus.Place{Since: r.since.Time, OnlyBack: r.as == ""}
	interval := interval{bus: b, topic: r.topic, group: out.Group, since: r.since.Time, progress: a.progress()}
	defer interval.progress.end()
	if !r.again || !a.yes || r.dryRun { // else the answer is not read before the keys are deleted
		interval.progress.step("reading the events since %s", moment(r.since.Time))
		recorded, err := interval.each(ctx, stores.recorded)
		if err != nil {
			return err
		}
		out.Events, out.Others = interval.events, interval.others
		if len(stores) > 0 {
			out.Recorded = &recorded
		}
		if there {
			moved, err := b.ResetGroup(ctx, r.topic, out.Group, to, true)
			if err != nil {
				return err
			}
			out.Again = moved.Again
		}
		interval.progress.end()
	}
	if r.dryRun {
		return a.replayed(out, r)
	}
	if !a.yes {
		if err := a.confirm(ctx, r.question(out)); err != nil {
			return err
		}
	}
	if r.again {
		// Before the group moves: see the command's description.
		interval.progress.step("forgetting the keys of group %s", plain(out.Group))
		out.Forgotten, err = interval.each(ctx, stores.forget)
		out.Events, out.Others = interval.events, interval.others
	}
	if err == nil {
		interval.progress.step("moving group %s", plain(out.Group))
		out.Again, err = r.move(ctx, b, out.Group, to)
	}
	interval.progress.end()
	if err != nil {
		if r.again {
			a.say("%s of group %s forgotten, and the group was not moved; the same command forgets the keys that are left and moves it", counted(out.Forgotten, "key"), plain(out.Group))
		}
		if out.Forgotten > 0 && a.json {
			out.Error = a.hide(err)
			return cmp.Or(a.printJSON(out), err)
		}
		return err
	}
	return a.replayed(out, r)
}

// target checks that the group for the events can be moved, and reports whether it exists
// already: a new one may, from an earlier attempt.
func (r *replayFlags) target(ctx context.Context, b *bus.Bus) (there bool, err error) {
	found, err := r.find(ctx, b)
	if err != nil {
		return false, err
	}
	if there = true; r.as != "" {
		all, err := b.Groups(ctx, r.topic)
		if err != nil {
			return false, err
		}
		i := slices.IndexFunc(all, func(g driver.Group) bool { return g.Group == r.as })
		if there = i >= 0; there {
			found = all[i]
		} else {
			found = driver.Group{}
		}
	}
	if found.Live && !r.dryRun {
		return false, fmt.Errorf("group %s of %s: %w", plain(found.Group), plain(found.Topic), bus.ErrGroupLive)
	}
	if r.as == "" || !there {
		return there, nil
	}
	moved, err := b.ResetGroup(ctx, r.topic, r.as, bus.Place{Since: r.since.Time}, true)
	if err == nil && moved.Skipped > 0 {
		err = fmt.Errorf("group %s of %s is there already, and would skip %s from before --since; give --as another name, or remove the group with `millrace group delete` if nothing needs it",
			plain(r.as), plain(r.topic), counted(int(moved.Skipped), "message"))
	}
	return true, err
}

// move moves the group back, or a new one to the time.
func (r *replayFlags) move(ctx context.Context, b *bus.Bus, group string, to bus.Place) (again int64, err error) {
	if r.as != "" {
		if err := b.Declare(ctx, bus.Topic{Name: r.topic, Groups: []string{r.as}}); err != nil {
			return 0, err
		}
	}
	moved, err := b.ResetGroup(ctx, r.topic, group, to, false)
	if errors.Is(err, bus.ErrGroupLive) && r.again {
		err = fmt.Errorf("a member has started while keys were forgotten: %w", err)
	}
	if r.as != "" {
		return 0, err
	}
	return moved.Again, err
}

func (r *replayFlags) question(out replayReport) string {
	q := fmt.Sprintf("Move group %s of %s back, so that it gets %s again", plain(out.Group), plain(out.Topic), counted(int(out.Again), "message"))
	if r.as != "" {
		q = fmt.Sprintf("Put a new group %s of %s before %s", plain(out.Group), plain(out.Topic), counted(out.Events+out.Others, "message"))
	}
	switch {
	case r.again: // then keys were counted
		return q + fmt.Sprintf(", and forget %s?", counted(*out.Recorded, "key"))
	case out.Recorded != nil:
		return q + fmt.Sprintf(", %d of which it skips by their keys?", *out.Recorded)
	}
	return q + "?"
}

// replayed prints the result, or that of a dry run.
func (a *app) replayed(out replayReport, r replayFlags) error {
	lines := []string{fmt.Sprintf("%s since %s", counted(out.Events, "event"), moment(out.Since))}
	if out.Others > 0 {
		lines[0] += fmt.Sprintf(", and %s that are no events and have no keys", counted(out.Others, "message"))
	}
	switch {
	case out.Forgotten > 0 || r.again && !r.dryRun:
		lines = append(lines, fmt.Sprintf("%s of group %s forgotten: these events are handled again", counted(out.Forgotten, "key"), plain(out.Group)))
	case out.Recorded != nil && r.again:
		lines = append(lines, fmt.Sprintf("%s of group %s would be forgotten", counted(*out.Recorded, "key"), plain(out.Group)))
	case out.Recorded != nil:
		lines = append(lines, fmt.Sprintf("%d of them have a key of group %s: its guard skips them, unless --again forgets the keys", *out.Recorded, plain(out.Group)))
	default:
		lines = append(lines, "how many of them the group skips is not known: name the store of its idempotency keys with --keys")
	}
	switch {
	case r.as != "" && r.dryRun:
		lines = append(lines, fmt.Sprintf("the new group %s would begin there", plain(out.Group)))
	case r.as != "":
		lines = append(lines, fmt.Sprintf("the new group %s begins there; start its consumers", plain(out.Group)))
	case r.dryRun:
		lines = append(lines, fmt.Sprintf("the group would get %s again", counted(int(out.Again), "message")))
	default:
		lines = append(lines, fmt.Sprintf("the group gets %s again; start its consumers", counted(int(out.Again), "message")))
	}
	return a.answer(out, "%s", strings.Join(lines, "\n"))
}
