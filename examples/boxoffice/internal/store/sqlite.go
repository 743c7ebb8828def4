package store

import (
	"database/sql"
	"embed"
	"errors"
	"net/url"
	"slices"
	"strings"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
)

// migrations of SQLite and PostgreSQL are one text, in the words of SQLite.
//
//go:embed sql/both/*.sql
var migrations embed.FS

func sqlite() dialect {
	return dialect{
		name:       "sqlite",
		migrations: set(migrations, "sql/both", migrate.SQLite, strings.Clone),
		rewrite: strings.NewReplacer(
			"now_ms()", "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
			// There is one writer, and transactions begin as one.
			"FOR UPDATE SKIP LOCKED", "",
			"FOR UPDATE", "",
		).Replace,
		open:     openSQLite,
		check:    checkSQLite,
		classify: sqliteoutbox.Classify,
		isUnique: func(err error) bool {
			var refused *driver.Error
			return errors.As(err, &refused) && slices.Contains(unique, refused.Code())
		},
		groupCommit: true,
		returns:     true,
	}
}

// unique are the codes of a row that a unique key refuses.
var unique = []int{codes.SQLITE_CONSTRAINT_UNIQUE, codes.SQLITE_CONSTRAINT_PRIMARYKEY, codes.SQLITE_CONSTRAINT_ROWID}

func openSQLite(raw string) (writer, reader *sql.DB, err error) {
	path, err := Path(raw)
	if err != nil {
		return nil, nil, err
	}
	if writer, err = sqliteoutbox.Open(path); err != nil {
		return nil, nil, err
	}
	// Two of them are held: the relay and the transport watch for commits.
	if reader, err = sqliteoutbox.OpenReader(path, 8); err != nil {
		return nil, nil, errors.Join(err, writer.Close())
	}
	return writer, reader, nil
}

func checkSQLite(u *url.URL) error {
	if err := busdriver.NewParams(u).Err(); err != nil {
		return err
	}
	if u.Host+u.Path+u.Opaque == "" {
		return errNoFile
	}
	_, err := Path(u.String())
	return err
}

var errNoFile = errors.New("the URL names no file; write sqlite://path")

// Path returns the file of a SQLite URL: sqlite://relative.db or
// sqlite:///absolute.db.
func Path(raw string) (string, error) {
	rest, ok := strings.CutPrefix(raw, "sqlite://")
	if !ok {
		return "", errors.New("it is no sqlite:// URL")
	}
	rest, _, _ = strings.Cut(rest, "?")
	path, err := url.PathUnescape(rest)
	if err != nil || path == "" {
		return "", errNoFile
	}
	return path, nil
}
