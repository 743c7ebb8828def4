package database

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/bus/mysqlbus"
	"github.com/millrace-go/millrace/bus/pgbus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/counter/sqlcounter"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/sqlname"
	"github.com/millrace-go/millrace/internal/sqlrows"
	"github.com/millrace-go/millrace/migrations"
	"github.com/millrace-go/millrace/sqltx"
)

// Part is a group of tables that are created together.
type Part struct {
	Name string // its name in the tool
	Sets []migrate.Set
}

// The names of the parts.
const (
	PartOutbox      = "outbox"
	PartStatus      = "outbox-status"
	PartBus         = "bus"
	PartIdempotency = "idempotency"
	PartLeases      = "leases"
	PartCounter     = "counter"
	PartCounterLog  = "counter-log"
)

// PartNames are all parts, in the order of [Parts].
func PartNames() []string {
	return []string{PartOutbox, PartStatus, PartBus, PartIdempotency, PartLeases, PartCounter, PartCounterLog}
}

// Layouts are the names of the idempotency table's layouts, the default first.
func Layouts() []string { return []string{"event_handled", "processed_events"} }

// ProcessedEvents is the field of sqlidempotency.Config that a layout's name stands for; "" is
// the default.
func ProcessedEvents(layout string) (bool, error) {
	if all := Layouts(); layout != "" && !slices.Contains(all, layout) {
		return false, fmt.Errorf("%q is no layout of the idempotency table; use %s", layout, strings.Join(all, " or "))
	}
	return layout == "processed_events", nil
}

// Parts returns the named parts in a dialect. layout is that of the idempotency table, the
// default one when empty, and box names the outbox's tables.
func Parts(d Dialect, layout string, box sqlname.Names, names ...string) ([]Part, error) {
	var out []Part
	for _, name := range names {
		sets, err := published(d, name, layout, box)
		if err != nil {
			return nil, err
		}
		part := Part{Name: name}
		for _, set := range sets {
			part.Sets = append(part.Sets, migrate.Set(set))
		}
		out = append(out, part)
	}
	return out, nil
}

func published(d Dialect, part, layout string, box sqlname.Names) ([]migrations.Set, error) {
	none := new(sql.DB) // only the SQL text is read
	empty := &Database{Dialect: d, DB: none, Names: box}
	switch part {
	case PartOutbox:
		return of(empty.Store(Cursor, 1))
	case PartStatus:
		return of(empty.Store(Status, 1))
	case PartBus:
		return map[Dialect]func() ([]migrations.Set, error){
			Postgres: pgbus.Migrations, MySQL: mysqlbus.Migrations, SQLite: sqlitebus.Migrations,
		}[d]()
	case PartIdempotency:
		processed, err := ProcessedEvents(layout)
		if err != nil {
			return nil, err
		}
		return of(sqlidempotency.New(none, sqlidempotency.Config{Dialect: sqltx.Dialect(d), ProcessedEvents: processed}))
	case PartLeases:
		return of(sqlidempotency.NewLeases(none, sqlidempotency.Config{Dialect: sqltx.Dialect(d)}))
	case PartCounter:
		return of(sqlcounter.New(none, sqlcounter.Config{Dialect: sqltx.Dialect(d)}))
	case PartCounterLog:
		return of(sqlcounter.NewLog(none, sqltx.Dialect(d), "any")) // one log for all counters
	}
	return nil, fmt.Errorf("%q is no package with tables; use %s or all", part, strings.Join(PartNames(), ", "))
}

func of[S migrations.Migrator](store S, err error) ([]migrations.Set, error) {
	if err != nil {
		return nil, err
	}
	return store.Migrations()
}

// migrations is the migrator's name of the dialect.
func (d Dialect) migrations() string {
	switch d {
	case MySQL:
		return migrate.MySQL
	case SQLite:
		return migrate.SQLite
	}
	return migrate.Postgres
}

// Step is one migration.
type Step struct {
	Version int64
	Name    string // the file's
	Applied bool
}

// State is the state of a part's migrations.
type State struct {
	Part    string
	Steps   []Step
	Unknown []int64 // versions in the database that this program does not know
}

// Missing reports whether the part does not exist at all.
func (s State) Missing() bool {
	return !slices.ContainsFunc(s.Steps, func(s Step) bool { return s.Applied }) && len(s.Unknown) == 0
}

// Pending counts the migrations that are still to be applied.
func (s State) Pending() (n int) {
	for _, step := range s.Steps {
		if !step.Applied {
			n++
		}
	}
	return n
}

// StateOf reads the state of a part. Unlike the migrator it creates nothing, so a user with
// read access only can call it.
func (d *Database) StateOf(ctx context.Context, p Part) (State, error) {
	state := State{Part: p.Name}
	for _, set := range p.Sets {
		applied, err := d.applied(ctx, set)
		if err != nil {
			return state, fmt.Errorf("versions of %s: %w", p.Name, err)
		}
		names, err := fs.Glob(set.FS, "*.sql")
		if err != nil {
			return state, err
		}
		slices.Sort(names)
		for _, name := range names {
			version := versionOf(name)
			state.Steps = append(state.Steps, Step{version, name, applied[version]})
			delete(applied, version)
		}
		for version, there := range applied {
			if there && version > 0 {
				state.Unknown = append(state.Unknown, version)
			}
		}
	}
	slices.Sort(state.Unknown)
	return state, nil
}

// versionOf reads the number that a migration's name begins with.
func versionOf(name string) (n int64) {
	for _, r := range name {
		if r < '0' || r > '9' {
			break
		}
		n = 10*n + int64(r-'0')
	}
	return n
}

func (d *Database) applied(ctx context.Context, set migrate.Set) (_ map[int64]bool, err error) {
	applied := map[int64]bool{}
	there, err := migrate.Exists(ctx, d.DB, set.Dialect, set.Schema, set.Table())
	if err != nil || !there {
		return applied, err
	}
	err = sqlrows.Each(ctx, d.DB, func(rows *sql.Rows) error {
		var version int64
		var is bool
		err := rows.Scan(&version, &is)
		applied[version] = is // the last entry decides
		return err
	}, `SELECT version_id, is_applied FROM `+sqlname.In(set.Schema, set.Table())+` ORDER BY id`)
	return applied, err
}
