package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
	"github.com/millrace-go/millrace/outbox/driver"
)

func (a *app) outboxRebaseCommand() *cobra.Command {
	var b boxFlags
	var since when
	cmd := b.of(&cobra.Command{
		Use: "rebase --since TIME", Short: "Put the relays' places right after a restore on another system",
		Long: "rebase is for a database that was restored from a dump on another system: the relay's places mean nothing there, and it refuses to run. " +
			"After pg_upgrade use adopt instead: rebase of a cursor outbox never publishes waiting events that are older than the given time. " +
			"What was appended since the given time is published again; what is older counts as published. Give a time well before the dump was made: consumers know what they have handled.",
		Example: "  millrace outbox rebase --since 2026-03-01T04:00:00Z --db postgres://app:secret@db/shop",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if since.IsZero() {
				return usage("--since is missing; give a time before the dump was made")
			}
			return a.withBox(cmd.Context(), &b, func(box database.Outbox) error {
				return a.outboxRebase(cmd.Context(), box, since.Time)
			})
		},
	})
	cmd.Flags().Var(&since, "since", "what was appended since then is published again: RFC 3339, or 2h for two hours ago")
	a.yesFlag(cmd, "do not ask")
	a.jsonFlag(cmd)
	return cmd
}

func (a *app) outboxRebase(ctx context.Context, box database.Outbox, since time.Time) error {
	rebaser, ok := box.(driver.Rebaser)
	if !ok {
		return a.answer(rebaseReport{}, "nothing to do: the places in this outbox move with its data")
	}
	since = since.UTC()
	question := "Publish what was appended since " + since.Format(time.RFC3339) + " again, and count what is older as published? (After pg_upgrade use adopt instead: it leaves out nothing that waits.)"
	if err := a.confirm(ctx, question); err != nil {
		return err
	}
	if err := rebaser.Rebase(ctx, since); err != nil {
		return err
	}
	return a.answer(rebaseReport{true, &since}, "done; relays go on from %s", since.Format(time.RFC3339))
}

// rebaseReport is the outcome for programs.
type rebaseReport struct {
	Rebased bool       `json:"rebased"` // false: the places in this outbox move with its data
	Since   *time.Time `json:"since"`
}
