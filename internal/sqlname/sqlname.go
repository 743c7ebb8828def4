// Package sqlname puts tables under the names and into the schema that the user
// chose. SQL files stay readable: they are written with the default names.
package sqlname

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Default is the prefix of the outbox's tables in the SQL files.
const Default = "outbox"

// Names says where the outbox's tables are. The zero value is the default.
type Names struct {
	// Schema holds the tables: a schema of PostgreSQL, a database of MySQL. "" is
	// where unqualified names are looked up.
	Schema string
	// Prefix begins their names; "" is [Default].
	Prefix string
}

// What goes into SQL text unquoted must be plain. Names are at most 63 bytes on
// PostgreSQL, and the longest that is made of a prefix is that of a version table.
var (
	schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,47}$`)
	prefixName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,23}$`)
)

// Validate checks the names once, so that they can stand in SQL text. Its errors
// say what the user calls the two: "Config.Schema" and "Config.Prefix".
func (n Names) Validate(schema, prefix string) error {
	if n.Schema != "" && !schemaName.MatchString(n.Schema) {
		return fmt.Errorf("%s is %q; use lower-case letters, digits and _, at most 48", schema, n.Schema)
	}
	if n.Prefix != "" && !prefixName.MatchString(n.Prefix) {
		return fmt.Errorf("%s is %q; use lower-case letters, digits and _, at most 24, a letter first", prefix, n.Prefix)
	}
	return nil
}

// Name is the name under which the table, index or sequence of a default name is.
func (n Names) Name(name string) string {
	if n.Prefix == "" {
		return name
	}
	return n.Prefix + strings.TrimPrefix(name, Default)
}

// Table is Name with the schema before it.
func (n Names) Table(name string) string { return In(n.Schema, n.Name(name)) }

// Package is what a package's versions are kept under, in package migrate: each
// prefix has its own.
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

// In is a name with its schema before it, if it has one.
func In(schema, name string) string {
	if schema == "" {
		return name
	}
	return schema + "." + name
}

// Qualify puts a schema before the tables and sequences in an SQL text, by what
// their names begin with.
func Qualify(text, schema string, tables ...string) string {
	if schema == "" {
		return text
	}
	return place(text, schema, func(name string) string { return name }, tables...)
}

// bare is what comes before a name that takes no schema: that of a new index or one
// that a query uses, of a constraint, or one that a catalog is searched for.
// DROP INDEX takes a schema on PostgreSQL, the only one that has it in these texts.
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
