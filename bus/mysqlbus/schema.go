package mysqlbus

import (
	"database/sql"
	"embed"
	"fmt"
	"io"
	"io/fs"

	"github.com/millrace-go/millrace/internal/log/mysqllog"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/migrations"
)

//go:embed sql
var files embed.FS

// tables is the log of the bus.
var tables = sqllog.Tables{Messages: "bus_messages", Cursors: "bus_cursors", Package: "bus"}

// folder returns an embedded folder, which exists.
func folder(name string) fs.FS {
	f, err := fs.Sub(files, name)
	if err != nil {
		panic(fmt.Sprintf("mysqlbus: %v", err)) // the name is a constant and valid
	}
	return f
}

// setsOf returns the schema: the log's tables, and those beside it.
func setsOf(log *mysqllog.Log) ([]migrate.Set, error) {
	of, err := log.Migrations()
	if err != nil {
		return nil, err
	}
	return []migrate.Set{of, {Package: "bus", Dialect: migrate.MySQL, FS: folder("sql/schema")}}, nil
}

// Migrations returns the sets that the first use of a bus applies, for a tool that runs them all.
func Migrations() ([]migrations.Set, error) {
	sets, err := printed()
	if err != nil {
		return nil, err
	}
	out := make([]migrations.Set, len(sets))
	for i, set := range sets {
		out[i] = migrations.Set(set)
	}
	return out, nil
}

func printed() ([]migrate.Set, error) {
	log, err := mysqllog.New(new(sql.DB), tables) // only for its text
	if err != nil {
		return nil, err
	}
	return setsOf(log)
}

// PrintMigrations writes the schema as a script for the mysql client. The first use applies it
// itself; the script is for reading, and for tools that create tables by other means.
func PrintMigrations(w io.Writer) error {
	sets, err := printed()
	if err != nil {
		return err
	}
	for _, set := range sets {
		if err := set.Print(w); err != nil {
			return err
		}
	}
	return nil
}
