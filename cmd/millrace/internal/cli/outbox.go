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
		Long:    "The outbox commands say how far the relays are, list what they gave up and give it back, put their places right after a restore, and print the settings by which Debezium takes their place.",
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
	var shard int
	cmd := b.of(&cobra.Command{
		Use: "status", Short: "Say how each shard stands",
		Long: "status shows per shard how many events wait, since when, how many of them stand aside or have failed, how many were given up, and which relay holds the lease. " +
			fmt.Sprintf("A backlog is counted up to %d.", outbox.BacklogLimit),
		Example: "  millrace outbox status --db postgres://app:secret@db/shop\n  millrace outbox status --shard 0 --json | jq '.[].backlog'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("shard") && shard < 0 {
				return usage("--shard is %d; give 0 or more", shard)
			}
			return a.outboxStatus(cmd.Context(), b, shard)
		},
	})
	cmd.Flags().IntVar(&shard, "shard", -1, "this one alone; all by default")
	a.boxCompletions(cmd)
	if err := cmd.RegisterFlagCompletionFunc("shard", a.shards(&b)); err != nil {
		panic(err) // the flag's name is written above
	}
	a.jsonFlag(cmd)
	return cmd
}

func (a *app) outboxStatus(ctx context.Context, b boxFlags, shard int) (err error) {
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
			if shard >= 0 && s.Shard != shard {
				continue
			}
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
	if shard >= 0 && len(all) == 0 {
		return usage("--shard is %d, and the outbox has none of that number", shard)
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
	a.boxCompletions(cmd)
	offers(cmd, "after")
	offers(cmd, "limit")
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

// list joins words for a flag's help.
func list[T ~string](words ...T) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return strings.Join(texts, ", ")
}
