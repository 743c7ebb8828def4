package cli

import (
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
)

// retryFlags choose the parked events to retry.
type retryFlags struct {
	boxFlags
	all bool
}

func (a *app) outboxRetryCommand() *cobra.Command {
	var f retryFlags
	cmd := f.of(&cobra.Command{
		Use: "retry ID… | --all", Short: "Give parked events back to the relay",
		Long: "retry appends the events again, behind everything that waits, and deletes what was parked, 500 in a transaction. " +
			"They keep their ids, so idempotent consumers know them. Events of their keys that were published meanwhile come before them. " +
			"An interruption leaves the rest parked. With --all, what is parked while it runs stays.",
		Example: "  millrace outbox retry 17 18 --db postgres://app:secret@db/shop\n  millrace outbox retry --all --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := numbers(args)
			switch {
			case err != nil:
				return err
			case f.all == (len(ids) > 0):
				return usage("name the events by their ids, as `outbox failed` shows them, or give --all")
			}
			return a.withBox(cmd.Context(), &f.boxFlags, func(box database.Outbox) error {
				return a.outboxRetry(cmd.Context(), box, f, ids)
			})
		},
		ValidArgsFunction: a.parkedIDs(&f.boxFlags),
	})
	cmd.Flags().BoolVar(&f.all, "all", false, "every parked event")
	a.yesFlag(cmd, "do not ask before --all")
	a.jsonFlag(cmd)
	return cmd
}

func numbers(args []string) ([]int64, error) {
	ids := make([]int64, len(args))
	for i, arg := range args {
		n, err := strconv.ParseInt(arg, 10, 64)
		if err != nil {
			return nil, usage("%q is no id; `outbox failed` shows them", arg)
		}
		ids[i] = n
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// retryReport is the outcome for programs.
type retryReport struct {
	Asked   int     `json:"asked"`   // how many ids were named, or were parked when --all began
	Retried int     `json:"retried"` // how many are retried
	Missing []int64 `json:"missing"` // named ids that are not parked
	Error   string  `json:"error,omitempty"`
}

func (a *app) outboxRetry(ctx context.Context, box database.Outbox, f retryFlags, ids []int64) (err error) {
	r := retryReport{Asked: len(ids), Missing: []int64{}}
	if f.all {
		shards, err := box.Stats(ctx)
		if err != nil {
			return err
		}
		for _, s := range shards {
			r.Asked += s.Parked
		}
		if r.Asked > 0 {
			if err := a.confirm(ctx, "Give "+counted(r.Asked, "event")+" back to the relay?"); err != nil {
				return err
			}
		}
	}
	drawn := a.progress()
	r.Retried, r.Missing, err = retry(ctx, box, ids, r.Asked, func(done int) {
		drawn.draw("%d of %d given back", done, r.Asked)
	})
	drawn.end()
	if err == nil {
		err = a.notParked(ctx, box, r.Missing)
	}
	return a.retried(ctx, r, err)
}

// notParked returns an error for the first ids that are not parked, with the nearest one.
func (a *app) notParked(ctx context.Context, box database.Outbox, missing []int64) error {
	if len(missing) == 0 {
		return nil
	}
	parked, err := box.Parked(ctx, 0, retryChunk)
	if err != nil {
		return err
	}
	var there []string
	for _, p := range parked {
		there = append(there, strconv.FormatInt(p.ID, 10))
	}
	for _, id := range missing[:min(len(missing), 10)] {
		a.say("millrace: %s", absent("parked event", strconv.FormatInt(id, 10), "in the outbox", there))
	}
	return nil
}

// retried prints the result, including the part completed before an error.
func (a *app) retried(ctx context.Context, r retryReport, err error) error {
	if err != nil {
		r.Error = a.hide(err)
	}
	text := "no events were given up"
	if r.Asked > 0 {
		text = counted(r.Retried, "event") + " given back to the relay"
	}
	perr := a.answer(r, "%s", text)
	switch {
	case err != nil:
		if ctx.Err() != nil {
			a.say("what was given back stays so, the rest is parked")
		}
		return err
	case perr != nil:
		return perr
	case len(r.Missing) > 0:
		a.say("millrace: %d of the %d ids are not parked", len(r.Missing), r.Asked)
		return errWrong
	}
	return nil
}

// retryChunk bounds one transaction.
const retryChunk = 500

// retry returns parked events to the outbox in chunks: the named ones, or the first most.
// Events that fail again meanwhile are parked behind those, and stay.
func retry(ctx context.Context, box database.Outbox, ids []int64, most int, progress func(done int)) (done int, missing []int64, err error) {
	missing = []int64{}
	if len(ids) == 0 {
		for after, seen := int64(0), 0; seen < most; {
			parked, err := box.Parked(ctx, after, min(retryChunk, most-seen))
			if err != nil || len(parked) == 0 {
				return done, missing, err
			}
			chunk := make([]int64, len(parked))
			for i, p := range parked {
				chunk[i] = p.ID
			}
			n, err := box.Retry(ctx, chunk...)
			done += n
			if err != nil {
				return done, missing, err
			}
			after, seen = chunk[len(chunk)-1], seen+len(chunk)
			progress(done)
		}
		return done, missing, nil
	}
	for chunk := range slices.Chunk(ids, retryChunk) {
		there, err := parkedOf(ctx, box, chunk)
		if err != nil {
			return done, missing, err
		}
		n, err := box.Retry(ctx, chunk...)
		done += n
		if err != nil {
			return done, missing, err
		}
		for _, id := range chunk {
			if !there[id] {
				missing = append(missing, id)
			}
		}
		progress(done)
	}
	return done, missing, nil
}

// parkedOf returns which of the ids, in order, are parked.
func parkedOf(ctx context.Context, box database.Outbox, ids []int64) (map[int64]bool, error) {
	there := map[int64]bool{}
	for _, id := range ids {
		found, err := box.Parked(ctx, id-1, 1)
		if err != nil {
			return nil, err
		}
		there[id] = len(found) == 1 && found[0].ID == id
	}
	return there, nil
}
