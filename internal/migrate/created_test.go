package migrate

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTables(t *testing.T) {
	got := tables(`
-- CREATE TABLE commented (a INT);
/* CREATE TABLE IF NOT EXISTS commented_too (a INT); */
CREATE TABLE IF NOT EXISTS Demo (
	Id      BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, -- a comment, with a comma
	name    VARCHAR(255) NOT NULL DEFAULT ('a, (b'),
	flag    BOOLEAN NOT NULL,
	price   DECIMAL(10, 2),
	` + "`key`" + `   INTEGER,
	state   VARCHAR(9) CHECK (state IN ('A', 'B')),
	doc     JSON,
	UNIQUE (name, flag), KEY demo_name (name), INDEX demo_flag (flag),
	CONSTRAINT c FOREIGN KEY (id) REFERENCES other (id), CHECK (price > 0), FULLTEXT (name)
) ENGINE = InnoDB;
INSERT INTO Demo VALUES (1);
create table plain(a int);
`)
	want := []created{
		{"demo", []column{
			{"id", "bigint"}, {"name", "varchar"}, {"flag", "tinyint"}, {"price", ""}, {"key", "int"}, {"state", "varchar"}, {"doc", ""},
		}},
		{"plain", []column{{"a", "int"}}},
	}
	assert.Truef(t, reflect.DeepEqual(got, want), "tables = %+v\nwant %+v", got, want)
	// Truncated text is not a table, and causes no panic.
	for _, text := range []string{"CREATE TABLE a (", "CREATE TABLE a ('", "/*", "--", "CREATE TABLE a (`b", "'"} {
		for _, table := range tables(text) {
			assert.Emptyf(t, table.columns, "%q has the columns %v", text, table.columns)
		}
	}
}

func TestMoved(t *testing.T) {
	added, gone := moved(`
ALTER TABLE a ADD COLUMN One INT, ADD COLUMN IF NOT EXISTS two INT; -- ADD COLUMN none
ALTER TABLE a DROP COLUMN three, DROP COLUMN IF EXISTS ` + "`four`" + `;
ALTER TABLE a RENAME COLUMN five TO six, CHANGE COLUMN seven eight INT;
SET @q = 'ALTER TABLE a ADD COLUMN nine INT';
`)
	if want := []string{"one", "two", "nine", "six", "eight"}; !reflect.DeepEqual(added, want) {
		t.Errorf("added %v, want %v", added, want)
	}
	if want := []string{"three", "four", "five", "seven"}; !reflect.DeepEqual(gone, want) {
		t.Errorf("gone %v, want %v", gone, want)
	}
}
