package migrate

import (
	"bytes"
	"fmt"
	"io"

	"github.com/millrace-go/millrace/internal/sqlname"
)

// Print writes the migrations as one script for psql, sqlite3 or mysql. It also records the
// versions, so that a later Up adds only newer ones. The script is for an empty database.
func (s Set) Print(w io.Writer) error {
	if err := s.validate(); err != nil {
		return err
	}
	all, err := s.migrations()
	if err != nil {
		return fmt.Errorf("migrate: %s: %w", s.Package, err)
	}
	versions := sqlname.In(s.Schema, s.Table())
	table, err := s.createTable(versions)
	if err != nil {
		return fmt.Errorf("migrate: %s: %w", s.Package, err)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "-- %s: tables of package %s (%s)\n%s\n%s;\n", versions, s.Package, s.Dialect, table, s.recording(versions, 0))
	for _, m := range all {
		fmt.Fprintf(&out, "\n-- %s\n%s\n%s;\n", m.name, m.text, s.recording(versions, m.version))
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("migrate: print %s: %w", s.Package, err)
	}
	return nil
}
