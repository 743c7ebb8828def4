package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
	"github.com/millrace-go/millrace/internal/sqlitedb"
)

func (e *examination) sqlite(ctx context.Context, u *url.URL) {
	path, err := database.Path(e.target.URL)
	if err != nil {
		e.add(Error, "url", e.said(err), "write sqlite://relative/path.db or sqlite:///absolute/path.db")
		return
	}
	if !e.file(path) {
		return
	}
	// A writing connection would turn WAL on before its state could be read.
	db, err := sqlitedb.OpenReader(path, sqlitedb.Config{BusyTimeout: e.Timeout, MaxOpenConns: 1})
	if err != nil {
		e.sqliteRefused(path, err)
		return
	}
	defer db.Close() //nolint:errcheck // everything it had to say was said
	asking, cancel := e.within(ctx)
	defer cancel()
	var version, journal string
	err = db.QueryRowContext(asking, `SELECT sqlite_version()`).Scan(&version)
	if err == nil {
		err = db.QueryRowContext(asking, `PRAGMA journal_mode`).Scan(&journal)
	}
	if err != nil {
		e.sqliteRefused(path, err)
		return
	}
	e.ok("version", "a database of SQLite, read with %s", version)
	if strings.EqualFold(journal, "wal") {
		e.ok("journal_mode", "readers and the writer do not wait for each other (WAL)")
	} else {
		e.add(Error, "journal_mode", "the journal is in mode "+journal+", not WAL: readers and the writer lock each other out",
			"open it once with Millrace, or PRAGMA journal_mode = WAL while nobody else has it open; a file on a network drive cannot be in WAL")
	}
	if u.Query().Get("synchronous") == "normal" {
		e.add(Warning, "synchronous", "the URL says synchronous=normal: a commit survives a killed process and not a power cut", "leave it out; each commit then waits for the disk")
	}
	e.tables(ctx, &database.Database{Dialect: database.SQLite, DB: db})
}

// file checks the file without opening it as a database.
func (e *examination) file(path string) bool {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
			e.add(Error, "file", "there is no folder "+filepath.Dir(path), "make it, or correct the path; sqlite://a/b is relative to the working folder, sqlite:///a/b is not")
			return false
		}
		e.add(Error, "file", "there is no file "+path, "the application makes it when it starts, or millrace migrate up; or correct the path")
		return false
	case err != nil:
		e.add(Error, "file", fmt.Sprintf("%s cannot be looked at: %s", path, e.said(err)), "give this user the right to read it and its folder")
		return false
	case info.IsDir():
		e.add(Error, "file", path+" is a folder", "give the path of a file")
		return false
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		e.add(Error, "file", fmt.Sprintf("%s cannot be opened for writing: %s", path, e.said(err)), "run as the application's user, or give this one the right to write it and its folder")
		return false
	}
	if err := f.Close(); err != nil {
		e.add(Error, "file", fmt.Sprintf("%s cannot be closed: %s", path, e.said(err)), "check the disk")
		return false
	}
	return true
}

func (e *examination) sqliteRefused(path string, err error) {
	switch text := err.Error(); {
	case strings.Contains(text, "not a database"):
		e.add(Error, "file", path+" is no database of SQLite, or it is encrypted", "correct the path")
	case strings.Contains(text, "malformed"):
		e.add(Error, "file", path+" is damaged", "restore it from a backup; sqlite3 FILE .recover saves what can be saved")
	case strings.Contains(text, "locked"), strings.Contains(text, "busy"), isTimeout(err):
		e.add(Error, "answers", fmt.Sprintf("another process keeps %s locked for more than %s", path, e.Timeout), "find it with fuser or lsof; a transaction is open for too long")
	default:
		e.add(Error, "answers", fmt.Sprintf("%s cannot be read: %s", path, e.said(err)), "check the file and its folder")
	}
}
