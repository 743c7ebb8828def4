package sqliteoutbox

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/sqlname"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/statusstore"
)

//go:embed sql/status/*.sql
var statusFiles embed.FS

// StatusConfig configures a [StatusStore]. The zero value works.
type StatusConfig struct {
	// Shards is the number of parts of the outbox; 1 when zero. It is stored on first use and
	// cannot change while there are events. SQLite has one writer, so more shards only gain
	// parallel publishing.
	Shards int
	// Prefix begins the tables' names; "outbox" when empty. Two outboxes in one file
	// have two prefixes. Lower-case letters, digits and _, at most 24.
	Prefix string
	// Reader is another pool on the same file, as in [Config].
	Reader *sql.DB
}

// StatusStore is an outbox in a SQLite file that keeps the state of each event
// in its row. It implements driver.Store and the optional driver.Signal,
// Listener, Pruner, Parking, Inspector and Preferrer, and adds Migrate,
// PrintMigrations and Migrations.
type StatusStore struct {
	*statusstore.Store
	db, reader *sql.DB
}

var (
	_ driver.Store    = (*StatusStore)(nil)
	_ driver.Listener = (*StatusStore)(nil)
)

// NewStatus creates a status store over db, a pool of [Open] or another pool whose transactions
// begin IMMEDIATE (_txlock=immediate). It does no I/O; call Migrate once before use.
func NewStatus(db *sql.DB, cfg StatusConfig) (*StatusStore, error) {
	if db == nil {
		return nil, errors.New("sqliteoutbox: db is nil")
	}
	names := sqlname.Names{Prefix: cfg.Prefix}
	if err := names.Validate("StatusConfig.Schema", "StatusConfig.Prefix"); err != nil {
		return nil, fmt.Errorf("sqliteoutbox: %w", err)
	}
	sub, err := fs.Sub(statusFiles, "sql/status")
	if err != nil {
		return nil, fmt.Errorf("sqliteoutbox: %w", err)
	}
	store, err := statusstore.New(statusstore.Database{Pool: db, Reads: cfg.Reader, Dialect: migrate.SQLite, Files: sub, Names: names}, cfg.Shards)
	if err != nil {
		return nil, err
	}
	return &StatusStore{Store: store, db: db, reader: cfg.Reader}, nil
}

// Listen implements driver.Listener. It needs StatusConfig.Reader.
func (s *StatusStore) Listen(ctx context.Context, wake func()) error {
	return listen(ctx, s.reader, wake)
}
