package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/bus/redrive"
)

// changeFlags are the flags of redrive and drop.
type changeFlags struct {
	filterFlags
	bus         string
	all, dryRun bool
	limit       int
	rate        float64
}

func (c *changeFlags) add(a *app, cmd *cobra.Command) *cobra.Command {
	c.of(a.letterCommand(cmd, &c.bus))
	f := cmd.Flags()
	f.BoolVar(&c.all, "all", false, "every letter")
	f.BoolVar(&c.dryRun, "dry-run", false, "change nothing, say what would be done")
	f.IntVar(&c.limit, "limit", 0, "how many at most; 0 for no bound")
	f.Float64Var(&c.rate, "rate", 0, "how many a second; 0 for no bound")
	return cmd
}

// chosen makes the filter, and refuses a command line that chooses nothing.
func (c *changeFlags) chosen(ids []string) (redrive.Filter, error) {
	switch {
	case c.limit < 0:
		return redrive.Filter{}, usage("--limit is %d; give at least 1, or 0 for all", c.limit)
	case c.rate < 0, math.IsNaN(c.rate):
		return redrive.Filter{}, usage("--rate is %g; give letters per second, or 0 for no bound", c.rate)
	case c.all && (len(ids) > 0 || c.set()):
		return redrive.Filter{}, usage("--all means every letter; leave out the ids and the filters, or --all")
	case !c.all && len(ids) == 0 && !c.set():
		return redrive.Filter{}, usage("say which letters: their ids, a filter such as --reason, or --all")
	}
	slices.Sort(ids)
	return c.filter(slices.Compact(ids), c.all), nil
}

func (a *app) dlqRedriveCommand() *cobra.Command {
	var c changeFlags
	return c.add(a, &cobra.Command{
		Use: "redrive TOPIC [ID…]", Short: "Publish dead letters to their original topics again",
		Long: "redrive publishes letters with their ids and bytes, each before it is acknowledged, so that an interruption loses nothing. " +
			"They reach every group of the topic; those that have handled them know their ids. A letter that fails again comes back and waits for the next redrive.",
		Example: "  millrace dlq redrive dlq.payment --all --dry-run --bus kafka://k1,k2,k3/\n" +
			"  millrace dlq redrive dlq.payment --reason API_5XX --since 2h --rate 20\n" +
			"  millrace dlq redrive dlq.payment 0199a7c2-7f00-7abc-8def-000000000001",
		Args: topicAnd(-1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := c.chosen(args[1:])
			if err != nil {
				return err
			}
			return a.withLetters(cmd.Context(), c.bus, args[0], func(l letters) error {
				return a.change(cmd.Context(), l, l.Redrive, f, c, "redriven")
			})
		},
	})
}

func (a *app) dlqDropCommand() *cobra.Command {
	var c changeFlags
	cmd := c.add(a, &cobra.Command{
		Use: "drop TOPIC [ID…]", Short: "Give dead letters up for good",
		Long:    "drop acknowledges letters without publishing them. Nothing brings them back, so it asks first.",
		Example: "  millrace dlq drop dlq.payment 0199a7c2-7f00-7abc-8def-000000000001 --bus kafka://k1,k2,k3/\n  millrace dlq drop orders.DLT --until 2026-01-01 --yes",
		Args:    topicAnd(-1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := c.chosen(args[1:])
			if err != nil {
				return err
			}
			if !c.dryRun {
				if err := a.confirmable(); err != nil {
					return err
				}
			}
			return a.withLetters(cmd.Context(), c.bus, args[0], func(l letters) error {
				if !a.yes && !c.dryRun {
					found, err := l.List(cmd.Context(), f, cmp.Or(c.limit, mostAsked))
					if err == nil && len(found.Letters) == 0 { // nothing to confirm
						if err = l.chosenNone(cmd.Context(), f); err == nil && len(f.IDs) > 0 {
							err = a.missing(cmd.Context(), l, f.IDs)
						}
					}
					if err != nil {
						return err
					}
					question := "Drop " + counted(len(found.Letters), "dead letter")
					if !found.Complete {
						question += " or more"
					} else if len(f.IDs) == 0 { // none that comes while the question is open; not nil, which means all
						f.All, f.IDs = false, append([]string{}, idsOf(found.Letters)...)
					}
					if err := a.confirm(cmd.Context(), question+" of "+plain(l.topic)+" for good?"); err != nil {
						return err
					}
				}
				return a.change(cmd.Context(), l, l.Drop, f, c, "dropped")
			})
		},
	})
	a.yesFlag(cmd, "do not ask")
	return cmd
}

// mostAsked is how many letters a question counts: they are in memory until it is answered.
const mostAsked = 10_000

// pass is Redrive or Drop.
type pass func(context.Context, redrive.Filter, redrive.Options) (redrive.Result, error)

// changeReport is the outcome for programs.
type changeReport struct {
	DryRun     bool            `json:"dryRun"`
	Pending    int             `json:"pending"`
	Seen       int             `json:"seen"`
	Matched    int             `json:"matched"`
	Done       int             `json:"done"`
	Duplicates int             `json:"duplicates"`
	Moved      int             `json:"moved"`
	Complete   bool            `json:"complete"`
	Failed     []failureReport `json:"failed"`
	Missing    []string        `json:"missing"` // ids that no letter has
	Error      string          `json:"error,omitempty"`
}

type failureReport struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

func (a *app) change(ctx context.Context, l letters, run pass, f redrive.Filter, c changeFlags, done string) error {
	drawn := a.progress()
	res, err := run(ctx, f, redrive.Options{Limit: c.limit, Rate: c.rate, DryRun: c.dryRun, Progress: func(r redrive.Result) {
		drawn.draw("%d %s, %d of %d looked at", r.Done, done, r.Seen, max(r.Pending, r.Seen))
	}})
	drawn.end()
	if err == nil && res.Matched == 0 {
		if err := l.chosenNone(ctx, f); err != nil {
			return err
		}
	}
	missing := []string{}
	if err == nil && res.Complete {
		missing = append(missing, res.Missing...)
	}
	out := changeReport{
		DryRun: c.dryRun, Pending: res.Pending, Seen: res.Seen, Matched: res.Matched, Done: res.Done,
		Duplicates: res.Duplicates, Moved: res.Moved, Complete: res.Complete, Failed: []failureReport{}, Missing: missing,
	}
	for _, failed := range res.Failed {
		why := a.hide(failed.Err)
		out.Failed = append(out.Failed, failureReport{failed.ID, why})
		a.say("%s stays: %s", plain(failed.ID), why)
	}
	if err != nil {
		out.Error = a.hide(err)
	}
	would := ""
	if c.dryRun {
		would = "would be "
	}
	perr := a.answer(out, "%s %s%s%s", counted(res.Done, "dead letter"), would, done, rest(res))
	switch {
	case err != nil:
		if ctx.Err() != nil {
			a.say("what was %s stays so, the rest is pending", done)
		}
		return err
	case perr != nil:
		return perr
	case len(missing) > 0:
		return a.missing(ctx, l, missing)
	case len(res.Failed) > 0:
		return errWrong
	case !res.Complete && c.limit == 0 && !c.dryRun:
		return errors.New("not all letters could be seen: another tool holds some of them, or newer ones are in between; run it again")
	}
	return nil
}

// missing lists the ids that no letter has, each with the nearest existing one.
func (a *app) missing(ctx context.Context, l letters, ids []string) error {
	all, err := l.all(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		a.say("millrace: %s", a.hide(absent("dead letter", id, "in "+plain(l.topic), idsOf(all.Letters))))
	}
	return errWrong
}

// rest describes the other results of a pass.
func rest(r redrive.Result) string {
	text := ""
	if r.Duplicates > 0 {
		text += fmt.Sprintf(", and with them %d more of the same events", r.Duplicates)
	}
	if r.Moved > 0 {
		text += fmt.Sprintf(", %d moved to the end of the topic", r.Moved)
	}
	if n := len(r.Failed); n > 0 {
		text += fmt.Sprintf(", %d cannot be", n)
	}
	if !r.Complete {
		text += fmt.Sprintf("; %d of %d were looked at", r.Seen, max(r.Pending, r.Seen))
	}
	return text
}
