package sqliteoutbox

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/sqlname"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/statusstore"
)

//go:embed sql/status/*.sql
var statusFiles embed.FS

type statusStore struct {
	*statusstore.Store
	db, reader *sql.DB
}

var (
	_ driver.Store    = (*statusStore)(nil)
	_ driver.Listener = (*statusStore)(nil)
)

func newStatus(db *sql.DB, names sqlname.Names, cfg Config) (driver.SQLStore, error) {
	sub, err := fs.Sub(statusFiles, "sql/status")
	if err != nil {
		return nil, fmt.Errorf("sqliteoutbox: %w", err)
	}
	store, err := statusstore.New(statusstore.Database{Pool: db, Reads: cfg.Reader, Dialect: migrate.SQLite, Files: sub, Names: names}, cfg.Shards)
	if err != nil {
		return nil, err
	}
	return &statusStore{Store: store, db: db, reader: cfg.Reader}, nil
}

// Listen implements driver.Listener. It needs Config.Reader.
func (s *statusStore) Listen(ctx context.Context, wake func()) error {
	return listen(ctx, s.reader, wake)
}
