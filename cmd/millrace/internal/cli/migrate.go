package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
	"github.com/millrace-go/millrace/internal/sqlname"
)

// migration holds the flags of the migrate commands.
type migration struct {
	db, layout, dialect string
	packages            []string
	names               sqlname.Names
}

func (a *app) migrateCommand() *cobra.Command {
	m := &migration{}
	flags := func(cmd *cobra.Command) *cobra.Command {
		f := cmd.Flags()
		f.StringVar(&m.db, "db", "", "URL of the database (or "+dbVariable+")")
		f.StringSliceVar(&m.packages, "package", []string{"all"}, strings.Join(database.PartNames(), ", ")+" or all")
		f.StringVar(&m.layout, "layout", database.Layouts()[0], "of the idempotency table: "+strings.Join(database.Layouts(), " or "))
		nameFlags(cmd, &m.names)
		offersURLs(cmd, "db", dbSchemes()...)
		offers(cmd, "package", append(database.PartNames(), "all")...)
		offers(cmd, "layout", database.Layouts()...)
		return cmd
	}
	show := flags(&cobra.Command{
		Use: "print", Short: "Print the tables as an SQL script for an empty database",
		Long:    "print writes the migrations as one script for psql, mysql or sqlite3, with the versions they leave. It connects to nothing.",
		Example: "  millrace migrate print --dialect postgres --package outbox,idempotency > tables.sql",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.migratePrint(m) },
	})
	show.Flags().StringVar(&m.dialect, "dialect", "", strings.Join(database.Dialects(), ", ")+"; that of --db by default")
	offers(show, "dialect", database.Dialects()...)
	up := flags(&cobra.Command{
		Use: "up", Short: "Make the tables, or bring them up to date",
		Long: "up applies what is pending, each migration in its own transaction where the database can. Several may run it at once. " +
			"How many shards an outbox has is left to the application, which stores it on first use. " +
			"An interruption undoes the migration that is under way, where the database can, and leaves those before it.",
		Example: "  millrace migrate up --db postgres://app:secret@db/shop --package outbox,idempotency\n" +
			"  millrace migrate up --db postgres://app:secret@db/shop --package counter,counter-log",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.migrateUp(cmd, m) },
	})
	status := flags(&cobra.Command{
		Use: "status", Short: "Say which migrations were applied",
		Long:    "status reads the version tables and makes nothing. It fails when tables that exist are behind; what is missing altogether may not be needed.",
		Example: "  millrace migrate status --db sqlite:///var/lib/shop/app.db",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.migrateStatus(cmd, m) },
	})
	a.jsonFlag(up)
	a.jsonFlag(status)
	return a.group(&cobra.Command{
		Use: "migrate", Short: "Make and check the tables of Millrace's packages",
		Long:    "Each package that owns tables has its own migrations and its own table of versions. The migrate commands print them, apply them, or say how far a database is.",
		Example: "  millrace migrate status --db postgres://app:secret@db/shop",
	}, show, up, status)
}

// parts are the chosen groups of tables.
func (m *migration) parts(d database.Dialect) ([]database.Part, error) {
	names := m.packages
	if slices.Contains(names, "all") {
		names = database.PartNames()
	}
	if len(names) == 0 {
		return nil, usage("--package is empty; use %s or all", strings.Join(database.PartNames(), ", "))
	}
	if err := validNames(m.names, d); err != nil {
		return nil, err
	}
	parts, err := database.Parts(d, m.layout, m.names, names...)
	if err != nil {
		return nil, usageError{err}
	}
	return parts, nil
}

func (a *app) migratePrint(m *migration) error {
	dialect, err := database.ParseDialect(m.dialect)
	if m.dialect == "" {
		var url string
		if url, err = a.url("db", m.db, dbVariable); err != nil {
			return usage("give --dialect (%s), or --db", strings.Join(database.Dialects(), ", "))
		}
		dialect, err = database.DialectOf(url)
	}
	if err != nil {
		return usageError{err}
	}
	parts, err := m.parts(dialect)
	if err != nil {
		return err
	}
	for i, part := range parts {
		for j, set := range part.Sets {
			if i+j > 0 {
				if err := a.print(""); err != nil {
					return err
				}
			}
			if err := set.Print(a.Out); err != nil {
				return err
			}
		}
	}
	return nil
}

// located returns the URL of the database that --db names, and its dialect.
func (a *app) located(flag string) (string, database.Dialect, error) {
	url, err := a.url("db", flag, dbVariable)
	if err != nil {
		return "", "", err
	}
	dialect, err := database.DialectOf(url)
	if err != nil {
		return "", "", usageError{err}
	}
	return url, dialect, nil
}

// open opens the database, and returns the chosen groups of tables.
func (m *migration) open(ctx context.Context, a *app, create bool) (*database.Database, []database.Part, error) {
	url, dialect, err := a.located(m.db)
	if err != nil {
		return nil, nil, err
	}
	parts, err := m.parts(dialect) // before a file is created
	if err != nil {
		return nil, nil, err
	}
	d, err := database.Connect(ctx, url, create, a.Answer)
	return d, parts, err
}

func (a *app) migrateUp(cmd *cobra.Command, m *migration) (err error) {
	d, parts, err := m.open(cmd.Context(), a, true)
	if err != nil {
		return err
	}
	defer closing(d.Close, &err)
	all, err := a.apply(cmd.Context(), d, parts)
	if a.json && (err == nil || len(all) > 0) {
		r := upAnswer{Packages: all}
		if err != nil {
			r.Error = a.hide(err)
		}
		if perr := a.printJSON(r); err == nil {
			err = perr
		}
	}
	if err != nil && cmd.Context().Err() != nil {
		a.say("what was applied stays so; run it again for the rest")
	}
	return err
}

// upAnswer is the outcome for programs.
type upAnswer struct {
	Packages []upReport `json:"packages"` // the completed ones
	Error    string     `json:"error,omitempty"`
}

// upReport is the result of up for a part.
type upReport struct {
	Package string `json:"package"`
	Applied int    `json:"applied"` // migrations; 0 when it was up to date
}

// apply brings parts up to date, and returns the completed ones.
func (a *app) apply(ctx context.Context, d *database.Database, parts []database.Part) ([]upReport, error) {
	all := []upReport{}
	drawn := a.progress()
	defer drawn.end()
	for i, part := range parts {
		before, err := d.StateOf(ctx, part)
		if err != nil {
			return all, err
		}
		n := before.Pending()
		drawn.draw("%d of %d packages: %s, %s pending", i+1, len(parts), part.Name, counted(n, "migration"))
		for _, set := range part.Sets {
			if err := set.Up(ctx, d.DB); err != nil {
				return all, err
			}
		}
		all = append(all, upReport{part.Name, n})
		if a.json {
			continue
		}
		done := "up to date"
		if n > 0 {
			done = counted(n, "migration") + " applied"
		}
		drawn.end()
		if err := a.print("%-14s %s", part.Name, done); err != nil {
			return all, err
		}
	}
	return all, nil
}

// partReport is the status of a part.
type partReport struct {
	Package string       `json:"package"`
	State   string       `json:"state"` // current, behind, missing, ahead
	Steps   []stepReport `json:"migrations"`
}

type stepReport struct {
	Version int64  `json:"version"`
	Name    string `json:"name"`
	Applied bool   `json:"applied"`
}

func (a *app) migrateStatus(cmd *cobra.Command, m *migration) (err error) {
	d, parts, err := m.open(cmd.Context(), a, false)
	if err != nil {
		return err
	}
	defer closing(d.Close, &err)
	all := []partReport{}
	behind := false
	rows := [][]string{{"PACKAGE", "STATE", "MIGRATION"}}
	for _, part := range parts {
		state, err := d.StateOf(cmd.Context(), part)
		if err != nil {
			return err
		}
		r := partReport{Package: part.Name, State: stateWord(state), Steps: []stepReport{}}
		behind = behind || r.State == "behind"
		for _, s := range state.Steps {
			r.Steps = append(r.Steps, stepReport(s))
			word := "applied"
			if !s.Applied {
				word = "pending"
			}
			rows = append(rows, []string{part.Name, word, s.Name})
		}
		for _, v := range state.Unknown {
			rows = append(rows, []string{part.Name, "unknown", fmt.Sprintf("version %d, of a newer Millrace", v)})
		}
		all = append(all, r)
	}
	err = a.list(all, rows, "")
	if err == nil && behind {
		a.say("millrace: some tables are behind; run `millrace migrate up`")
		err = errWrong
	}
	return err
}

func stateWord(s database.State) string {
	switch {
	case s.Missing():
		return "missing"
	case s.Pending() > 0:
		return "behind"
	case len(s.Unknown) > 0:
		return "ahead"
	}
	return "current"
}

// closing adds the error of closing something to that of a command.
func closing(shut func() error, err *error) {
	if cerr := shut(); cerr != nil && *err == nil {
		*err = cerr
	}
}
