package sqllog

import (
	"fmt"
	"regexp"
)

// Tables names the tables of one log.
type Tables struct {
	// Schema holds the tables: a schema of PostgreSQL, a database of MySQL. If it is "", names
	// are resolved by the connection.
	Schema string
	// Messages is the append-only table, e.g. "outbox_messages".
	Messages string
	// Cursors holds one row per consumer and lane, e.g. "outbox_cursors". PostgreSQL keeps their
	// positions in another table, with "_progress" appended to the name.
	Cursors string
	// Labels are further text columns of Messages, filled from Entry.Labels, for readers other
	// than ours, such as a change-data-capture router.
	Labels []string
	// Package names the owner; the log's migrations keep their version in
	// millrace_<Package>_log_version.
	Package string
}

// An identifier is written into SQL text unquoted, so it must be plain.
var identifier = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,47}$`)

// Validate checks the names once, so that they can be used in SQL text.
func (t Tables) Validate() error {
	for _, f := range []struct{ field, name string }{
		{"Messages", t.Messages}, {"Cursors", t.Cursors}, {"Package", t.Package},
	} {
		if !identifier.MatchString(f.name) {
			return fmt.Errorf("sqllog: %s: %q is no plain SQL name; use lower-case letters, digits and _, at most 48", f.field, f.name)
		}
	}
	if t.Schema != "" && !identifier.MatchString(t.Schema) {
		return fmt.Errorf("sqllog: Schema: %q is no plain SQL name; use lower-case letters, digits and _, at most 48", t.Schema)
	}
	for i, name := range t.Labels {
		if !identifier.MatchString(name) {
			return fmt.Errorf("sqllog: Labels[%d]: %q is no plain SQL name; use lower-case letters, digits and _, at most 48", i, name)
		}
	}
	return nil
}
