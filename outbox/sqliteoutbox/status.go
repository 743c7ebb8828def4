package sqliteoutbox

import (
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
	file
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
	return &statusStore{store, file{db, cfg.Reader}}, nil
}
