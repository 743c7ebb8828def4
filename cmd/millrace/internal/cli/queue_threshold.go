package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/cmd/millrace/internal/waiting"
)

func (a *app) queueThresholdCommand() *cobra.Command {
	var f queueFlags
	var fresh bool
	cmd := f.of(&cobra.Command{
		Use: "threshold EVENT [N]", Short: "Show or set how many may be active in an event",
		Long: "threshold shows how many may be active in an event at a time, or sets it for all processes at once. " +
			"Raising it lets in who is first in line, at the room's pace. Lowering it expels nobody: those inside stay until their time is over, and nobody is let in while as many are active. " +
			"0 lets nobody in. It stays until it is set again, or Redis loses its data. An event that nobody has used is an error, because its name may be mistyped; --new sets the threshold of a sale that is still to open.",
		Example:           "  millrace queue threshold show-1 --redis redis://cache/0\n  millrace queue threshold show-1 500 --redis redis://cache/0\n  millrace queue threshold show-2 500 --new",
		ValidArgsFunction: a.events(&f, 1),
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 || args[0] == "":
				return errors.New("name the event, as `queue status` shows it")
			case len(args) > 2:
				return fmt.Errorf("%q is too much", args[2])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			n := -1
			if len(args) == 2 {
				var err error
				if n, err = threshold(args[1]); err != nil {
					return err
				}
			}
			if fresh && n < 0 {
				return usage("--new goes with a threshold; give the number to set")
			}
			return a.rooms(f, func(rooms *waiting.Rooms) error {
				if err := used(cmd.Context(), rooms, f.prefix, args[:1]); err != nil && (!fresh || !errors.Is(err, errNoEvent)) {
					if errors.Is(err, errNoEvent) && n >= 0 {
						err = fmt.Errorf("%w; if its sale is still to open, add --new", err)
					}
					return err
				}
				return a.queueThreshold(cmd.Context(), rooms, args[0], n)
			})
		},
	})
	// A negative number looks like a flag.
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		for _, arg := range a.args {
			if n, nerr := strconv.Atoi(arg); nerr == nil && n < 0 {
				_, terr := threshold(arg)
				return terr
			}
		}
		return noFlag(cmd, err)
	})
	cmd.Flags().BoolVar(&fresh, "new", false, "set it for an event that nobody has used yet")
	a.jsonFlag(cmd)
	return cmd
}

// mostActive is the highest threshold; no room is as large.
const mostActive = 1_000_000_000

func threshold(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > mostActive {
		return 0, usage("threshold is %q; give a whole number from 0, which lets nobody in, to %d", text, mostActive)
	}
	return n, nil
}

// thresholdReport is the answer for programs: the current state of the event.
type thresholdReport struct {
	eventReport
	Changed  bool `json:"changed"`
	Previous *int `json:"previousThreshold"` // null: the application's own
}

// queueThreshold sets the threshold, or shows it when n is negative.
func (a *app) queueThreshold(ctx context.Context, rooms *waiting.Rooms, event string, n int) error {
	if n < 0 {
		events, err := rooms.Look(ctx, []string{event}, nil)
		if err != nil {
			return err
		}
		r := eventOf(events[0])
		return a.answer(thresholdReport{eventReport: r, Previous: r.Threshold}, "%s: threshold %s, %d active, %d waiting", plain(event), r.threshold(), r.Active, r.Waiting)
	}
	before, after, err := rooms.SetThreshold(ctx, event, n)
	if err != nil {
		return err
	}
	was, is := eventOf(before), eventOf(after)
	text := fmt.Sprintf("%s: threshold %s → %s, %d active, %d waiting", plain(event), was.threshold(), is.threshold(), is.Active, is.Waiting)
	switch {
	case n == 0:
		text += fmt.Sprintf("\nnobody is let in any more; the %d who are active stay until their time is over", is.Active)
	case is.Active >= n:
		text += fmt.Sprintf("\nnobody is expelled: the %d who are active stay until their time is over, and nobody is let in while %d or more are", is.Active, n)
	}
	return a.answer(thresholdReport{is, was.Threshold == nil || *was.Threshold != n, was.Threshold}, "%s", text)
}
