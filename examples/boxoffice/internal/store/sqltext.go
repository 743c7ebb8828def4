package store

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Load fills the string fields of into with the statements of text, a SQL file whose
// statements each stand below a line "-- name: Field", rewritten for the database.
// Comment lines are left out, so that they contain no parameters. A statement without
// a field, or a field without a statement, is an error: it would otherwise show only
// when it is run.
func (s *Store) Load(text string, into any) error {
	return load(text, s.dialect.rewrite, into)
}

func load(text string, rewrite func(string) string, into any) error {
	v := reflect.ValueOf(into).Elem()
	seen := map[string]bool{}
	for i, part := range strings.Split("\n"+text, "\n-- name: ") {
		if i == 0 {
			continue // the text before the first name is a comment
		}
		name, body, _ := strings.Cut(part, "\n")
		name = strings.TrimSpace(name)
		field := v.FieldByName(name)
		if !field.IsValid() || field.Kind() != reflect.String {
			return fmt.Errorf("store: statement %q has no field in %T", name, into)
		}
		if seen[name] {
			return fmt.Errorf("store: statement %q stands twice", name)
		}
		seen[name] = true
		field.SetString(strings.TrimSpace(rewrite(uncommented(body))))
	}
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; !seen[name] {
			return fmt.Errorf("store: field %s of %T has no statement", name, into)
		}
	}
	return nil
}

// uncommented is a statement without the lines that are comments.
func uncommented(body string) string {
	lines := strings.Split(body, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool {
		return strings.HasPrefix(strings.TrimSpace(line), "--")
	}), "\n")
}
