package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
	"github.com/millrace-go/millrace/internal/sqlname"
	"github.com/millrace-go/millrace/outbox/driver"
)

// boxFlags choose the outbox.
type boxFlags struct {
	db, kind string
	names    sqlname.Names
}

func (b *boxFlags) of(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&b.db, "db", "", "URL of the database (or "+dbVariable+")")
	cmd.Flags().StringVar(&b.kind, "kind", "", "cursor or status; whichever the database has by default")
	nameFlags(cmd, &b.names)
	offersURLs(cmd, "db", dbSchemes()...)
	offers(cmd, "kind", string(database.Cursor), string(database.Status))
	return cmd
}

// nameFlags adds the flags for the names of the outbox's tables.
func nameFlags(cmd *cobra.Command, names *sqlname.Names) {
	cmd.Flags().StringVar(&names.Schema, "schema", "", "that holds the outbox's tables, on MySQL the database; that of the connection by default")
	cmd.Flags().StringVar(&names.Prefix, "prefix", "", "of the outbox's tables (default "+sqlname.Default+")")
}

// open opens the outbox's database.
func (b *boxFlags) open(ctx context.Context, a *app) (*database.Database, error) {
	url, dialect, err := a.located(b.db)
	if err != nil {
		return nil, err
	}
	if err := validNames(b.names, dialect); err != nil {
		return nil, err
	}
	d, err := database.Connect(ctx, url, false, a.Answer)
	if err == nil {
		d.Names = b.names
	}
	return d, err
}

func validNames(n sqlname.Names, d database.Dialect) error {
	if n.Schema != "" && d == database.SQLite {
		return usage("--schema is %q; SQLite has no schemas", n.Schema)
	}
	if err := n.Validate("--schema", "--prefix"); err != nil {
		return usageError{err}
	}
	return nil
}

func (a *app) outboxCommand() *cobra.Command {
	return a.group(&cobra.Command{
		Use: "outbox", Short: "Look into the outbox, and retry what was given up",
		Long:    "The outbox commands say how far the relays are, list what fails and what they gave up, give it back, put their places right after an upgrade or a restore, and print the settings by which Debezium takes their place.",
		Example: "  millrace outbox status --db postgres://app:secret@db/shop",
	}, a.outboxStatusCommand(), a.outboxFailingCommand(), a.outboxFailedCommand(), a.outboxRetryCommand(),
		a.outboxAdoptCommand(), a.outboxRebaseCommand(), a.debeziumCommand())
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

// withBox opens the one outbox that a command is about, and calls do with it.
func (a *app) withBox(ctx context.Context, b *boxFlags, do func(database.Outbox) error) (err error) {
	d, err := b.open(ctx, a)
	if err != nil {
		return err
	}
	defer closing(d.Close, &err)
	kinds, err := b.kinds(ctx, d)
	if err != nil {
		return err
	}
	if len(kinds) > 1 {
		return usage("the database has an outbox of each kind; give --kind cursor or --kind status")
	}
	box, err := d.Outbox(ctx, kinds[0])
	if err != nil {
		return err
	}
	return do(box)
}

// shardReport is a shard as status shows it.
type shardReport struct {
	Kind    database.Kind `json:"kind"`
	Shard   int           `json:"shard"`
	Backlog int           `json:"backlog"` // counted up to driver.BacklogLimit
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
		Long: "status shows per shard how many events wait, since when, how many of them stand aside or have failed, how many were given up, and which relay holds the lease. With failing or parked events it says which command lists them. " +
			fmt.Sprintf("A backlog is counted up to %d.", driver.BacklogLimit),
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
	complete(cmd, "shard", a.shards(&b))
	a.jsonFlag(cmd)
	return cmd
}

func (a *app) outboxStatus(ctx context.Context, b boxFlags, shard int) (err error) {
	d, err := b.open(ctx, a)
	if err != nil {
		return err
	}
	defer closing(d.Close, &err)
	kinds, err := b.kinds(ctx, d)
	if err != nil {
		return err
	}
	all := []shardReport{}
	var there []string // the numbers of all shards
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
			there = append(there, strconv.Itoa(s.Shard))
			if shard >= 0 && s.Shard != shard {
				continue
			}
			r := shardReport{kind, s.Shard, s.Backlog, nil, s.Aside, s.Failing, s.Parked, s.Holder}
			if !s.Oldest.IsZero() {
				r.Oldest = &s.Oldest
			}
			backlog := strconv.Itoa(s.Backlog)
			if s.Backlog >= driver.BacklogLimit {
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
		return usageError{absent("shard", strconv.Itoa(shard), "of the outbox", there)}
	}
	if err := a.list(all, rows, ""); err != nil || a.json {
		return err
	}
	failing, parked := 0, 0
	for _, r := range all {
		failing, parked = failing+r.Failing, parked+r.Parked
	}
	if failing > 0 {
		a.say("failing: %s; `millrace outbox failing` says which and why", counted(failing, "event"))
	}
	if parked > 0 {
		a.say("given up: %s; `millrace outbox failed` says which and why", counted(parked, "event"))
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
