// Package sqlstore holds the common parts of the cursor store and the status store: the stored
// number of shards, parked events, and rows in every dialect.
package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/sqltx"
)

// MaxShards is the most shards of a store; each shard is polled by itself.
const MaxShards = 1024

// setting is the row of the settings table that holds the number.
const setting = "shards"

//go:embed sql
var embedded embed.FS

// Shards compares a store's number of shards with the number in its tables.
type Shards struct {
	N int

	settings string // the table that holds the number
	// put writes a setting unless it exists, check affects one row if the setting has the value,
	// and get reads the setting.
	put, check, get string
	checked         atomic.Bool // the stored number is the configured one
	appended        atomic.Bool // Ensure stored it, in a transaction that may be rolled back
}

// NewShards checks n; 0 means 1. The dialect is of package migrate, and settings is the table
// that holds the number.
func NewShards(n int, dialect, settings string) (*Shards, error) {
	if n < 0 || n > MaxShards {
		return nil, fmt.Errorf("outbox: Config.Shards is %d; use 1 to %d", n, MaxShards)
	}
	s := &Shards{N: max(n, 1), settings: settings}
	for name, into := range map[string]*string{"put": &s.put, "check": &s.check, "get": &s.get} {
		text, err := embedded.ReadFile("sql/" + dialect + "/setting_" + name + ".sql")
		if err != nil {
			return nil, fmt.Errorf("outbox: statements: %w", err)
		}
		*into = strings.ReplaceAll(string(text), "{{settings}}", settings)
	}
	return s, nil
}

// Store writes the number if none is stored yet, and compares the stored one.
func (s *Shards) Store(ctx context.Context, db sqllog.Querier) (int, error) {
	if _, err := s.exec(ctx, db, s.put); err != nil {
		return 0, fmt.Errorf("outbox: store the number of shards: %w", s.withoutTables(err))
	}
	var stored string
	err := db.QueryRowContext(ctx, s.get, setting).Scan(&stored)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("outbox: read the number of shards: %w", err)
	}
	if stored != strconv.Itoa(s.N) {
		return 0, s.mismatch(stored)
	}
	s.checked.Store(true)
	return s.N, nil
}

// exec runs put or check, and returns how many rows it affected.
func (s *Shards) exec(ctx context.Context, x sqltx.Execer, query string) (int64, error) {
	res, err := x.ExecContext(ctx, query, setting, strconv.Itoa(s.N))
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Ensure compares the number within the caller's transaction, because the pool may have no
// second connection. After the first match it costs nothing, unless the number was stored by
// Ensure itself: then every call compares, until Store has.
func (s *Shards) Ensure(ctx context.Context, tx sqltx.Execer) error {
	if s.checked.Load() {
		return nil
	}
	for range 2 {
		n, err := s.exec(ctx, tx, s.check)
		if err != nil {
			return fmt.Errorf("check the number of shards: %w", s.withoutTables(err))
		}
		if n > 0 {
			if !s.appended.Load() { // or the row may be this transaction's own
				s.checked.Store(true)
			}
			return nil
		}
		n, err = s.exec(ctx, tx, s.put)
		if err != nil {
			return fmt.Errorf("store the number of shards: %w", s.withoutTables(err))
		}
		if n > 0 {
			s.appended.Store(true)
			return nil // stored, if this transaction commits; so the next Append checks again
		}
	}
	return s.mismatch("another number")
}

// withoutTables adds the remedy if the error means that the tables are missing, by the words
// and codes of the three databases.
func (s *Shards) withoutTables(err error) error {
	text := err.Error()
	for _, sign := range []string{"no such table", "SQLSTATE 42P01", "Error 1146"} {
		if strings.Contains(text, sign) {
			return fmt.Errorf("the outbox has no tables here; call its store's Migrate, or run `millrace migrate up --package outbox`: %w", err)
		}
	}
	return err
}

func (s *Shards) mismatch(stored string) error {
	return fmt.Errorf("%w: Config.Shards is %d, the tables were made for %s; configure that number, "+
		"or drain the outbox, stop every writer and relay, and change it in %s", driver.ErrShards, s.N, stored, s.settings)
}
