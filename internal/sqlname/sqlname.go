// Package sqlname puts the names and the schema that the user chose into SQL. SQL files stay
// readable: they are written with the default names.
package sqlname

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Default is the prefix of the outbox's tables in the SQL files.
const Default = "outbox"

// Names are the user's names of the outbox's tables. The zero value is the default.
type Names struct {
	// Schema holds the tables: a schema of PostgreSQL, a database of MySQL. "" is the schema of
	// unqualified names.
	Schema string
	// Prefix begins their names; "" is [Default].
	Prefix string
}

// Names in SQL text are unquoted, so they must be plain. Names are at most 63 bytes on
// PostgreSQL, and the longest one with a prefix is that of a version table.
var (
	schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,47}$`)
	prefixName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,23}$`)
)

// Validate checks the names once, so that they can be used in SQL text. Its errors name the
// user's settings: "Config.Schema" and "Config.Prefix".
func (n Names) Validate(schema, prefix string) error {
	if n.Schema != "" && !schemaName.MatchString(n.Schema) {
		return fmt.Errorf("%s is %q; use lower-case letters, digits and _, at most 48", schema, n.Schema)
	}
	if n.Prefix != "" && !prefixName.MatchString(n.Prefix) {
		return fmt.Errorf("%s is %q; use lower-case letters, digits and _, at most 24, a letter first", prefix, n.Prefix)
	}
	return nil
}

// Name returns the name of the table, index or sequence with a default name.
func (n Names) Name(name string) string {
	if n.Prefix == "" {
		return name
	}
	return n.Prefix + strings.TrimPrefix(name, Default)
}

// Table returns Name with the schema before it.
func (n Names) Table(name string) string { return In(n.Schema, n.Name(name)) }

// Package returns the name for a package's versions in package migrate: each prefix has its own.
func (n Names) Package(pkg string) string {
	if n.Prefix == "" || n.Prefix == Default {
		return pkg
	}
	return n.Prefix + "_" + pkg
}

// Text puts the names into an SQL text.
func (n Names) Text(text string) string {
	if n.Schema == "" && n.Prefix == "" {
		return text
	}
	return place(text, n.Schema, n.Name, Default+"_")
}

// In returns a name with its schema before it, if it has one.
func In(schema, name string) string {
	if schema == "" {
		return name
	}
	return schema + "." + name
}

// Qualify puts a schema before the tables and sequences in an SQL text, which it finds by the
// beginnings of their names.
func Qualify(text, schema string, tables ...string) string {
	if schema == "" {
		return text
	}
	return place(text, schema, func(name string) string { return name }, tables...)
}

// bare matches the text before a name that takes no schema: the name of a new index or of one
// that a query uses, of a constraint, or one that is searched in a catalog. DROP INDEX takes a
// schema on PostgreSQL, the only database that has it in these texts.
const bare = `\bDROP\s+INDEX\s+(?:IF\s+EXISTS\s+)?|\bINDEX\s+(?:IF\s+NOT\s+EXISTS\s+)?\(?|\bINDEXED\s+BY\s+|\b(?:KEY|CONSTRAINT)\s+|table_name\s*=\s*'|\.`

func place(text, schema string, name func(string) string, beginnings ...string) string {
	longest := slices.Clone(beginnings)
	slices.SortFunc(longest, func(a, b string) int { return len(b) - len(a) })
	names := regexp.MustCompile(`((?i:` + bare + `))?\b((?:` + strings.Join(longest, "|") + `)[a-z0-9_]*)`)
	if schema != "" {
		text = strings.ReplaceAll(text, "DATABASE()", "'"+schema+"'")
	}
	return names.ReplaceAllStringFunc(text, func(found string) string {
		m := names.FindStringSubmatch(found)
		if m[1] != "" && !strings.EqualFold(m[1][:min(4, len(m[1]))], "DROP") {
			return m[1] + name(m[2])
		}
		return m[1] + In(schema, name(m[2]))
	})
}
