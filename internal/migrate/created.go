package migrate

import (
	"regexp"
	"strings"
)

// created is a table as a migration's text creates it.
type created struct {
	name    string
	columns []column
}

// column is a column's name and its type in information_schema, "" when servers differ in the
// type.
type column struct{ name, base string }

var (
	createTable = regexp.MustCompile("(?i)\\bCREATE\\s+TABLE\\s+(?:IF\\s+NOT\\s+EXISTS\\s+)?(?:`?[a-z0-9_$]+`?\\.)?`?([a-z0-9_$]+)`?\\s*\\(")
	addColumn   = regexp.MustCompile("(?i)\\bADD\\s+COLUMN\\s+(?:IF\\s+NOT\\s+EXISTS\\s+)?`?([a-z0-9_$]+)")
	dropColumn  = regexp.MustCompile("(?i)\\b(?:DROP|RENAME|CHANGE)\\s+COLUMN\\s+(?:IF\\s+EXISTS\\s+)?`?([a-z0-9_$]+)")
	newName     = regexp.MustCompile("(?i)\\b(?:RENAME\\s+COLUMN\\s+`?[a-z0-9_$]+`?\\s+TO|CHANGE\\s+COLUMN\\s+`?[a-z0-9_$]+`?)\\s+`?([a-z0-9_$]+)")
	word        = regexp.MustCompile("^(?:`([^`]+)`|([A-Za-z0-9_$]+))\\s*([A-Za-z]*)")
)

// tables returns the tables that a migration's statements create.
func tables(text string) []created {
	text = withoutComments(text)
	var all []created
	for _, at := range createTable.FindAllStringSubmatchIndex(text, -1) {
		t := created{name: strings.ToLower(text[at[2]:at[3]])}
		for _, item := range items(text[at[1]:]) {
			if c, ok := columnOf(item); ok {
				t.columns = append(t.columns, c)
			}
		}
		all = append(all, t)
	}
	return all
}

// moved returns the columns that the statements add to tables and drop from them, for any table.
func moved(text string) (added, gone []string) {
	text = strings.ToLower(withoutComments(text))
	for _, re := range []*regexp.Regexp{addColumn, newName} {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			added = append(added, m[1])
		}
	}
	for _, m := range dropColumn.FindAllStringSubmatch(text, -1) {
		gone = append(gone, m[1])
	}
	return added, gone
}

// columnOf reads an item of CREATE TABLE; false for keys and constraints.
func columnOf(item string) (column, bool) {
	m := word.FindStringSubmatch(strings.TrimSpace(item))
	if m == nil {
		return column{}, false
	}
	if m[1] != "" {
		return column{strings.ToLower(m[1]), base(m[3])}, true
	}
	switch strings.ToUpper(m[2]) {
	case "PRIMARY", "KEY", "INDEX", "UNIQUE", "CONSTRAINT", "FOREIGN", "CHECK", "FULLTEXT", "SPATIAL":
		return column{}, false
	}
	return column{strings.ToLower(m[2]), base(m[3])}, true
}

// base is a type's name in information_schema.
func base(name string) string {
	switch name = strings.ToLower(name); name {
	case "integer":
		return "int"
	case "boolean", "bool":
		return "tinyint"
	case "int", "bigint", "smallint", "tinyint", "char", "varchar", "binary", "varbinary",
		"text", "longtext", "blob", "longblob", "datetime", "timestamp", "date", "double":
		return name
	}
	return ""
}

// items splits the text between an opening parenthesis, which is already removed, and its
// closing one, at the commas outside of others.
func items(text string) []string {
	var all []string
	from, depth := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\'', '"', '`':
			i = closing(text, i)
		case '(':
			depth++
		case ')':
			if depth == 0 {
				return append(all, text[from:i])
			}
			depth--
		case ',':
			if depth == 0 {
				all, from = append(all, text[from:i]), i+1
			}
		}
	}
	return all
}

// closing returns the end of the quotation that begins at i.
func closing(text string, i int) int {
	end := strings.IndexByte(text[i+1:], text[i])
	if end < 0 {
		return len(text)
	}
	return i + 1 + end
}

// withoutComments removes "-- …" and "/* … */".
func withoutComments(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch {
		case text[i] == '\'' || text[i] == '"' || text[i] == '`':
			end := min(closing(text, i), len(text)-1)
			out.WriteString(text[i : end+1])
			i = end
		case strings.HasPrefix(rest, "--"):
			line, _, _ := strings.Cut(rest, "\n")
			i += len(line) - 1
		case strings.HasPrefix(rest, "/*"):
			comment, _, _ := strings.Cut(rest, "*/")
			i += len(comment) + 1
			out.WriteByte(' ')
		default:
			out.WriteByte(text[i])
		}
	}
	return out.String()
}
