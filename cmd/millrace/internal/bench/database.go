package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
)

// inDatabase creates a schema, a database or a file.
func (c Config) inDatabase(ctx context.Context, rawURL string, u *url.URL) (*place, error) {
	dialect, err := database.DialectOf(rawURL)
	if err != nil {
		return nil, err
	}
	switch dialect {
	case database.Postgres:
		inside := with(*u, map[string]string{"search_path": c.Name})
		p, err := c.onServer(ctx, rawURL, inside, "schema "+c.Name, `CREATE SCHEMA `+c.Name, `DROP SCHEMA `+c.Name+` CASCADE`)
		if err != nil {
			return nil, err
		}
		if err := entered(ctx, inside, c.Name); err != nil {
			rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), removing)
			defer cancel()
			return nil, errors.Join(err, p.remove(rest))
		}
		return p, nil
	case database.MySQL:
		inside := *u
		inside.Path, inside.RawPath = "/"+c.Name, ""
		return c.onServer(ctx, rawURL, inside.String(), "database "+c.Name, `CREATE DATABASE `+c.Name, `DROP DATABASE `+c.Name)
	}
	return c.inFile(rawURL, u)
}

// entered checks that connections of a URL work in a schema: a pooler may refuse search_path, or
// drop it, and then the tables would be the application's own.
func entered(ctx context.Context, inside, schema string) (err error) {
	d, err := database.Open(inside, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	var at string
	err = d.DB.QueryRowContext(ctx, `SELECT coalesce(current_schema(), '')`).Scan(&at)
	var pg *pgconn.PgError
	switch {
	case err == nil && at != schema:
		err = fmt.Errorf("search_path has no effect, the schema is %q", at)
	case !errors.As(err, &pg) || pg.Code != "08P01": // an unsupported parameter
		return err
	}
	return fmt.Errorf("the benchmark works in the schema %s only, and a pooler such as PgBouncer keeps it out; give the URL of the server itself: %w", schema, err)
}

// onServer creates a place by a statement, which fails if the place exists.
func (c Config) onServer(ctx context.Context, rawURL, inside, what, create, drop string) (*place, error) {
	run := func(ctx context.Context, statement string) (err error) {
		d, err := database.Connect(ctx, rawURL, false, 0)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.Close()) }()
		_, err = d.DB.ExecContext(ctx, statement)
		return err
	}
	if err := run(ctx, create); err != nil {
		var pg *pgconn.PgError
		var my *mysql.MySQLError
		switch {
		case errors.As(err, &pg) && (pg.Code == "42P06" || pg.Code == "23505"), errors.As(err, &my) && my.Number == 1007:
			return nil, taken("the "+what, drop)
		case errors.As(err, &pg) && pg.Code == "42501", errors.As(err, &my) && my.Number == 1044:
			return nil, fmt.Errorf("this user may not make the %s, and the benchmark works nowhere else; grant it: %w", what, err)
		}
		return nil, err
	}
	return &place{url: inside, what: "the " + what, remove: func(ctx context.Context) error { return run(ctx, drop) }}, nil
}

// inFile creates a file beside that of the URL, on the same disk.
func (c Config) inFile(rawURL string, u *url.URL) (*place, error) {
	path, err := database.Path(rawURL)
	if err != nil {
		return nil, err
	}
	path, err = filepath.Abs(filepath.Join(filepath.Dir(path), c.Name+".db"))
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, taken("the file "+path, "rm "+path+"*")
	case err != nil:
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	inside := url.URL{Scheme: "sqlite", Path: filepath.ToSlash(path), RawQuery: u.RawQuery}
	return &place{url: inside.String(), what: "the file " + path, remove: func(context.Context) error {
		var errs []error
		for _, name := range []string{path, path + "-wal", path + "-shm"} {
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
		return errors.Join(errs...)
	}}, nil
}
