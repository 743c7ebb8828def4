package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
	"github.com/millrace-go/millrace/outbox"
)

// boxFlags say which outbox.
type boxFlags struct{ db, kind string }

func (b *boxFlags) of(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&b.db, "db", "", "URL of the database (or "+dbVariable+")")
	cmd.Flags().StringVar(&b.kind, "kind", "", "cursor or status; whichever the database has by default")
	return cmd
}

func (a *app) outboxCommand() *cobra.Command {
	return a.group(&cobra.Command{
		Use: "outbox", Short: "Look into the outbox, and retry what was given up",
		Example: "  millrace outbox status --db postgres://app:secret@db/shop",
	}, a.outboxStatusCommand(), a.outboxFailedCommand(), a.outboxRetryCommand(), a.outboxRebaseCommand(), a.debeziumCommand())
}

// kinds are those that the flags choose and the database has.
func (b *boxFlags) kinds(ctx context.Context, d *database.Database) ([]database.Kind, error) {
	switch k := database.Kind(b.kind); k {
	case database.Cursor, database.Status:
		return []database.Kind{k}, nil
	case "":
	default:
		return nil, usage("--kind is %q; use cursor or status", b.kind)
	}
	kinds, err := d.Kinds(ctx)
	if err == nil && len(kinds) == 0 {
		err = database.ErrNoOutbox
	}
	return kinds, err
}

// box opens the one outbox that a command is about.
func (b *boxFlags) box(ctx context.Context, d *database.Database) (database.Outbox, error) {
	kinds, err := b.kinds(ctx, d)
	if err != nil {
		return nil, err
	}
	if len(kinds) > 1 {
		return nil, usage("the database has an outbox of each kind; give --kind cursor or --kind status")
	}
	return d.Outbox(ctx, kinds[0])
}

// shardReport is a shard as status shows it.
type shardReport struct {
	Kind    database.Kind `json:"kind"`
	Shard   int           `json:"shard"`
	Backlog int           `json:"backlog"` // counted up to outbox.BacklogLimit
	Oldest  *time.Time    `json:"oldest"`
	Aside   int           `json:"aside"`
	Failing int           `json:"failing"`
	Parked  int           `json:"parked"`
	Holder  string        `json:"holder"`
}

func (a *app) outboxStatusCommand() *cobra.Command {
	var b boxFlags
	cmd := b.of(&cobra.Command{
		Use: "status", Short: "Say how each shard stands",
		Long: "status shows per shard how many events wait, since when, how many of them stand aside or have failed, how many were given up, and which relay holds the lease. " +
			fmt.Sprintf("A backlog is counted up to %d.", outbox.BacklogLimit),
		Example: "  millrace outbox status --db postgres://app:secret@db/shop",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.outboxStatus(cmd.Context(), b) },
	})
	a.jsonFlag(cmd)
	return cmd
}

func (a *app) outboxStatus(ctx context.Context, b boxFlags) (err error) {
	d, err := a.open(b.db)
	if err != nil {
		return err
	}
	defer closing(d.Close, &err)
	kinds, err := b.kinds(ctx, d)
	if err != nil {
		return err
	}
	all := []shardReport{}
	rows := [][]string{{"KIND", "SHARD", "BACKLOG", "OLDEST", "ASIDE", "FAILING", "PARKED", "HOLDER"}}
	for _, kind := range kinds {
		box, err := d.Outbox(ctx, kind)
		if err != nil {
			return err
		}
		shards, err := box.Stats(ctx)
		if err != nil {
			return err
		}
		for _, s := range shards {
			r := shardReport{kind, s.Shard, s.Backlog, nil, s.Aside, s.Failing, s.Parked, s.Holder}
			if !s.Oldest.IsZero() {
				r.Oldest = &s.Oldest
			}
			backlog := strconv.Itoa(s.Backlog)
			if s.Backlog >= outbox.BacklogLimit {
				backlog += "+"
			}
			all = append(all, r)
			rows = append(rows, []string{
				string(kind), strconv.Itoa(s.Shard), backlog, ago(s.Oldest),
				strconv.Itoa(s.Aside), strconv.Itoa(s.Failing), strconv.Itoa(s.Parked), orDash(s.Holder),
			})
		}
	}
	if a.json {
		return a.printJSON(all)
	}
	return a.table(rows)
}

// parkedReport is an event that was given up, as failed shows it.
type parkedReport struct {
	ID          int64     `json:"id"`
	Shard       int       `json:"shard"`
	Topic       string    `json:"topic"`
	MessageID   string    `json:"messageId"`
	Key         string    `json:"key"`
	Attempts    int       `json:"attempts"`
	LastError   string    `json:"lastError"`
	CreatedAt   time.Time `json:"createdAt"`
	FirstFailed time.Time `json:"firstFailedAt"`
	ParkedAt    time.Time `json:"parkedAt"`
}

func (a *app) outboxFailedCommand() *cobra.Command {
	var b boxFlags
	var after int64
	var limit int
	cmd := b.of(&cobra.Command{
		Use: "failed", Short: "List the events that were given up",
		Long:    "failed lists parked events by id. When there are more than --limit, the last line says how to go on.",
		Example: "  millrace outbox failed --db postgres://app:secret@db/shop --limit 20",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.outboxFailed(cmd.Context(), b, after, limit) },
	})
	cmd.Flags().Int64Var(&after, "after", 0, "only ids above this one")
	cmd.Flags().IntVar(&limit, "limit", 100, "how many at most")
	a.jsonFlag(cmd)
	return cmd
}

func (a *app) outboxFailed(ctx context.Context, b boxFlags, after int64, limit int) (err error) {
	if limit < 1 || limit > 10_000 {
		return usage("--limit is %d; give 1 to 10000", limit)
	}
	d, err := a.open(b.db)
	if err != nil {
		return err
	}
	defer closing(d.Close, &err)
	box, err := b.box(ctx, d)
	if err != nil {
		return err
	}
	parked, err := box.Parked(ctx, after, limit+1)
	if err != nil {
		return err
	}
	more := len(parked) > limit
	parked = parked[:min(len(parked), limit)]
	all := []parkedReport{}
	rows := [][]string{{"ID", "SHARD", "TOPIC", "EVENT", "KEY", "ATTEMPTS", "GIVEN UP", "ERROR"}}
	for _, p := range parked {
		all = append(all, parkedReport{p.ID, p.Shard, p.Topic, p.MessageID, p.Key, p.Attempts, p.LastError, p.CreatedAt, p.FirstFailedAt, p.ParkedAt})
		rows = append(rows, []string{
			strconv.FormatInt(p.ID, 10), strconv.Itoa(p.Shard), p.Topic, p.MessageID, orDash(short(p.Key, 24)),
			strconv.Itoa(p.Attempts), moment(p.ParkedAt), short(p.LastError, 80),
		})
	}
	switch {
	case a.json:
		return a.printJSON(map[string]any{"events": all, "more": more})
	case len(parked) == 0:
		return a.print("no events were given up")
	}
	if err := a.table(rows); err != nil {
		return err
	}
	if more {
		a.say("there are more: --after %d", parked[len(parked)-1].ID)
	}
	return nil
}

func (a *app) outboxRetryCommand() *cobra.Command {
	var b boxFlags
	var all, yes bool
	cmd := b.of(&cobra.Command{
		Use: "retry ID… | --all", Short: "Give parked events back to the relay",
		Long: "retry appends the events again, behind everything that waits, and deletes what was parked, in one transaction. " +
			"They keep their ids, so idempotent consumers know them. Events of their keys that were published meanwhile come before them.",
		Example: "  millrace outbox retry 17 18 --db postgres://app:secret@db/shop\n  millrace outbox retry --all --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := numbers(args)
			switch {
			case err != nil:
				return err
			case all == (len(ids) > 0):
				return usage("name the events by their ids, as `outbox failed` shows them, or give --all")
			}
			return a.outboxRetry(cmd.Context(), b, ids, yes)
		},
	})
	cmd.Flags().BoolVar(&all, "all", false, "every parked event")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask before --all")
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
	return ids, nil
}

func (a *app) outboxRetry(ctx context.Context, b boxFlags, ids []int64, yes bool) (err error) {
	d, err := a.open(b.db)
	if err != nil {
		return err
	}
	defer closing(d.Close, &err)
	box, err := b.box(ctx, d)
	if err != nil {
		return err
	}
	var n int
	if len(ids) > 0 {
		n, err = box.Retry(ctx, ids...)
	} else {
		shards, serr := box.Stats(ctx)
		if serr != nil {
			return serr
		}
		for _, s := range shards {
			n += s.Parked
		}
		if n == 0 {
			return a.print("no events were given up")
		}
		if err := a.confirm(ctx, yes, "Give "+counted(n, "event")+" back to the relay?"); err != nil {
			return err
		}
		n, err = box.RetryAll(ctx)
	}
	// What was done before an error stays done.
	if perr := a.print("%s given back to the relay", counted(n, "event")); err == nil {
		err = perr
	}
	if err == nil && n < len(ids) {
		a.say("millrace: %d of the %d ids are not parked", len(ids)-n, len(ids))
		return errWrong
	}
	return err
}

func (a *app) outboxRebaseCommand() *cobra.Command {
	var b boxFlags
	var since when
	var yes bool
	cmd := b.of(&cobra.Command{
		Use: "rebase --since TIME", Short: "Put the relays' places right after a restore on another system",
		Long: "rebase is for a database that was restored from a dump on another system: the relay's places mean nothing there, and it refuses to run. " +
			"What was appended since the given time is published again; what is older counts as published. Give a time well before the dump was made: consumers know what they have handled.",
		Example: "  millrace outbox rebase --since 2026-03-01T04:00:00Z --db postgres://app:secret@db/shop",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if since.IsZero() {
				return usage("--since is missing; give a time before the dump was made")
			}
			return a.outboxRebase(cmd.Context(), b, since.Time, yes)
		},
	})
	cmd.Flags().Var(&since, "since", "what was appended since then is published again: RFC 3339, or 2h for two hours ago")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

func (a *app) outboxRebase(ctx context.Context, b boxFlags, since time.Time, yes bool) (err error) {
	d, err := a.open(b.db)
	if err != nil {
		return err
	}
	defer closing(d.Close, &err)
	box, err := b.box(ctx, d)
	if err != nil {
		return err
	}
	rebaser, ok := box.(outbox.Rebaser)
	if !ok {
		return a.print("nothing to do: the places in this outbox move with its data")
	}
	question := "Publish what was appended since " + since.UTC().Format(time.RFC3339) + " again, and count what is older as published?"
	if err := a.confirm(ctx, yes, question); err != nil {
		return err
	}
	if err := rebaser.Rebase(ctx, since); err != nil {
		return err
	}
	return a.print("done; relays go on from %s", since.UTC().Format(time.RFC3339))
}

// list joins words for a flag's help.
func list[T ~string](words ...T) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return strings.Join(texts, ", ")
}
