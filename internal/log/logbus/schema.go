package logbus

import (
	"io"
	"io/fs"

	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/migrations"
)

// Tables is the log of the bus.
func Tables() sqllog.Tables {
	return sqllog.Tables{Messages: "bus_messages", Cursors: "bus_cursors", Package: "bus"}
}

// Migrations returns the schema: the log's tables, and those beside it of [Parts].Files.
func Migrations(log sqllog.Log, files fs.FS, dialect string) ([]migrations.Set, error) {
	of, err := log.Migrations()
	if err != nil {
		return nil, err
	}
	beside, err := fs.Sub(files, "sql/schema")
	if err != nil {
		return nil, err
	}
	return []migrations.Set{migrations.Set(of), {Package: "bus", Dialect: dialect, FS: beside}}, nil
}

// Print writes a schema as a script.
func Print(w io.Writer, schema func() ([]migrations.Set, error)) error {
	sets, err := schema()
	if err != nil {
		return err
	}
	for _, set := range sets {
		if err := migrate.Set(set).Print(w); err != nil {
			return err
		}
	}
	return nil
}
