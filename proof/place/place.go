package place

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/pgdb"
)

// Place is where a system keeps its tables, and where no other system keeps any.
type Place struct {
	// URL finds the place: unqualified names are made and looked up there.
	URL string
	// Name of the schema or database.
	Name string

	server  string // the URL it was made of
	mariadb bool
}

// Postgres is a schema on the server of a URL.
func Postgres(server, schema string) (Place, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return Place{}, errors.New("the PostgreSQL URL does not parse; give postgres://user:password@host:5432/name")
	}
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return Place{URL: u.String(), server: server, Name: schema}, nil
}

// MariaDB is a database on the server of a URL, MariaDB or MySQL, whose user may make databases.
func MariaDB(server, name string) (Place, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return Place{}, errors.New("the URL of MariaDB or MySQL does not parse; give mysql://user:password@host:3306/name")
	}
	u.Path = "/" + name
	return Place{URL: u.String(), server: server, Name: name, mariadb: true}, nil
}

// Open returns a pool on the place. The caller closes it.
func (p Place) Open() (*sql.DB, error) { return p.open(p.URL) }

func (p Place) open(url string) (*sql.DB, error) {
	if p.mariadb {
		return mysqldb.Open(url)
	}
	return pgdb.Open(url)
}

// Recreate drops the place and makes it, empty.
func (p Place) Recreate(ctx context.Context) error {
	if err := p.Drop(ctx); err != nil {
		return err
	}
	if p.mariadb {
		return p.exec(ctx, "CREATE DATABASE "+p.Name)
	}
	return p.exec(ctx, "CREATE SCHEMA "+p.Name)
}

// Fresh is Recreate, and then Open.
func (p Place) Fresh(ctx context.Context) (*sql.DB, error) {
	if err := p.Recreate(ctx); err != nil {
		return nil, err
	}
	return p.Open()
}

// Drop removes the place and all that is in it.
func (p Place) Drop(ctx context.Context) error {
	if p.mariadb {
		return p.exec(ctx, "DROP DATABASE IF EXISTS "+p.Name)
	}
	return p.exec(ctx, "DROP SCHEMA IF EXISTS "+p.Name+" CASCADE")
}

// Settle lets the server finish the work that a fill left behind, so that it does
// not slow the next measurement, and gathers the statistics that the server would
// have gathered within a minute. Every system gets the same.
func (p Place) Settle(ctx context.Context) error {
	if !p.mariadb {
		return p.exec(ctx, "ANALYZE", "CHECKPOINT")
	}
	db, err := p.Open()
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // a side connection
	var tables sql.NullString
	err = db.QueryRowContext(ctx, "SELECT GROUP_CONCAT(CONCAT('`', table_name, '`')) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'").Scan(&tables)
	if err != nil || !tables.Valid {
		return err
	}
	_, err = db.ExecContext(ctx, "ANALYZE TABLE "+tables.String)
	return err
}

// exec runs statements outside of the place.
func (p Place) exec(ctx context.Context, statements ...string) error {
	db, err := p.open(p.server)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // a side connection
	for _, s := range statements {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", strings.SplitN(s, "\n", 2)[0], err)
		}
	}
	return nil
}
