package store

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/migrate"
)

// dialect is everything that differs between databases.
type dialect struct {
	name       string
	migrations func() (migrate.Set, error)
	// rewrite converts the shared SQL to the database's own.
	rewrite  func(text string) string
	open     func(url string) (writer, reader *sql.DB, err error)
	check    func(u *url.URL) error // of a URL, before anything is opened
	classify fault.Classifier
	isUnique func(error) bool
	// filled runs once the tables have their shows and seats; "" for nothing.
	filled string
	// groupCommit reports whether writers share commits (see Store.Write).
	groupCommit bool
	// returns reports whether UPDATE … RETURNING is supported (see Store.Update).
	returns bool
}

// dialects by the scheme of their URL.
func dialects() map[string]func() dialect {
	return map[string]func() dialect{
		"sqlite":   sqlite,
		"postgres": postgres, "postgresql": postgres,
		"mysql": mysql,
	}
}

// Schemes are the database URLs that [Open] knows.
func Schemes() []string {
	return slices.Sorted(maps.Keys(dialects()))
}

// CheckURL returns the mistake in a database URL, before anything is opened. The
// error never repeats a part that may be a password.
func CheckURL(raw string) error {
	_, err := dialectOf(raw)
	return err
}

// dialectOf finds the dialect of a URL and checks the URL.
func dialectOf(raw string) (dialect, error) {
	scheme, _, ok := strings.Cut(raw, "://")
	if !ok {
		return dialect{}, errors.New("the URL has no scheme; write sqlite://path, postgres://… or mysql://…")
	}
	of, ok := dialects()[scheme]
	if !ok {
		return dialect{}, fmt.Errorf("unknown scheme %q; known are: %s", scheme, strings.Join(Schemes(), ", "))
	}
	u, err := kit.ParseURL(raw)
	if err != nil {
		return dialect{}, err
	}
	d := of()
	return d, d.check(u)
}

// checkServer checks the URL of a database server.
func checkServer(u *url.URL) error {
	if u.Hostname() == "" || len(strings.Trim(u.Path, "/")) == 0 {
		return fmt.Errorf("the URL names no host and database; write %s://user:password@host/name", u.Scheme)
	}
	return nil
}

// set is the migrations in a folder of the package's files, with their texts edited.
func set(files fs.FS, folder, dialect string, edit func(text string) string) func() (migrate.Set, error) {
	return func() (migrate.Set, error) {
		sub, err := fs.Sub(files, folder)
		if err == nil {
			sub, err = migrate.Render(sub, "*.sql", edit)
		}
		return migrate.Set{Package: "boxoffice", Dialect: dialect, FS: sub}, err
	}
}
