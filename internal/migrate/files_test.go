package migrate

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

func TestFiles(t *testing.T) {
	set := Set{FS: fstest.MapFS{
		"0010_later.sql": {Data: []byte("-- +goose Up\nSELECT 10;\n")},
		"0002_first.sql": {Data: []byte("-- A page about it.\n-- +goose Up\nSELECT 2;\n\n-- +goose Down\nSELECT -2;\n")},
		"readme.txt":     {Data: []byte("no migration")},
	}}
	got, err := set.migrations()
	want := []migration{{2, "0002_first.sql", "SELECT 2;"}, {10, "0010_later.sql", "SELECT 10;"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("migrations = %+v, %v; want %+v", got, err, want)
	}
}

func TestFilesAreChecked(t *testing.T) {
	const good = "-- +goose Up\nSELECT 1;\n"
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"first.sql": good}, "first.sql: the name does not begin with a version"},
		{map[string]string{"0000_zero.sql": good}, "0000_zero.sql: the name does not begin with a version"},
		{map[string]string{"0001_a.sql": good, "1_b.sql": good}, "0001_a.sql and 1_b.sql have the same version"},
		{map[string]string{"0001_a.sql": "SELECT 1;"}, `0001_a.sql: there is no line "-- +goose Up"`},
		{map[string]string{"0001_a.sql": "-- +goose NO TRANSACTION\n" + good}, `0001_a.sql: the mark "NO TRANSACTION" is unknown`},
		{map[string]string{"0001_a.sql": "-- +goose Up\n-- +goose StatementBegin\nSELECT 1;\n"}, `the mark "StatementBegin" is unknown`},
	} {
		fsys := fstest.MapFS{}
		for name, text := range c.files {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if _, err := (Set{FS: fsys}).migrations(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.files, err, c.want)
		}
	}
}

func TestStatements(t *testing.T) {
	got, err := statements(`
-- A comment; it belongs to no statement.

CREATE TABLE a ( -- a comment, with an end;
	b TEXT DEFAULT ';' NOT NULL,
	-- of a line of its own;
	c INT
); -- made
	-- indented;
INSERT INTO a VALUES ('x; y', 1); INSERT INTO a VALUES ('z', 2);
`)
	want := []string{
		"CREATE TABLE a ( -- a comment, with an end;\n\tb TEXT DEFAULT ';' NOT NULL,\n\t-- of a line of its own;\n\tc INT\n); -- made",
		"INSERT INTO a VALUES ('x; y', 1); INSERT INTO a VALUES ('z', 2);",
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("statements = %q, %v; want %q", got, err, want)
	}
	if _, err := statements("SELECT 1;\nSELECT 2\n-- end;\n"); err == nil || !strings.Contains(err.Error(), "SELECT 2") {
		t.Errorf("a statement without an end: %v, want an error that shows it", err)
	}
}
