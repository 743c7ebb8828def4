package sqllog

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing/fstest"
	"text/template"

	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/sqlname"
)

// Files are the statements and migrations of one database: sql/NAME.sql and sql/NNNN_name.sql,
// with the tables' names as template actions.
type Files struct {
	FS      fs.FS
	Dialect string // of package migrate
	Funcs   template.FuncMap
}

// Statements fills the table names into the statements and stores their texts.
func (f Files) Statements(t Tables, into map[string]*string) error {
	for name, to := range into {
		text, err := f.render(t, "sql/"+name+".sql")
		if err != nil {
			return err
		}
		*to = strings.TrimSpace(string(text))
	}
	return nil
}

// Schema returns the migrations of the log's tables.
func (f Files) Schema(t Tables) (migrate.Set, error) {
	names, err := fs.Glob(f.FS, "sql/[0-9]*.sql")
	if err != nil {
		return migrate.Set{}, fmt.Errorf("sqllog: %s: %w", f.Dialect, err)
	}
	rendered := make(fstest.MapFS, len(names))
	for _, name := range names {
		text, err := f.render(t, name)
		if err != nil {
			return migrate.Set{}, fmt.Errorf("sqllog: %s: %w", f.Dialect, err)
		}
		rendered[path.Base(name)] = &fstest.MapFile{Data: text}
	}
	return migrate.Set{Package: t.Package + "_log", Schema: t.Schema, Dialect: f.Dialect, FS: rendered}, nil
}

func (f Files) render(t Tables, name string) ([]byte, error) {
	text, err := fs.ReadFile(f.FS, name)
	if err != nil {
		return nil, err
	}
	out, err := f.Text(t, string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return []byte(out), nil
}

// Text fills the table names into a text that is not a file of f.
func (f Files) Text(t Tables, text string) (string, error) {
	parsed, err := template.New("").Funcs(f.Funcs).Parse(text)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = parsed.Execute(&out, t)
	return sqlname.Qualify(out.String(), t.Schema, t.Messages, t.Cursors), err
}
