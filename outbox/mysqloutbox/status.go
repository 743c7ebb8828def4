package mysqloutbox

import (
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/millrace-go/millrace/internal/log/mysqllog"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/sqlname"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/statusstore"
)

//go:embed sql/status/*.sql
var statusFiles embed.FS

type statusStore struct {
	*statusstore.Store
	server
}

var (
	_ driver.Store    = (*statusStore)(nil)
	_ driver.Listener = (*statusStore)(nil)
)

func newStatus(db *sql.DB, names sqlname.Names, cfg Config) (driver.SQLStore, error) {
	sub, err := fs.Sub(statusFiles, "sql/status")
	if err != nil {
		return nil, fmt.Errorf("mysqloutbox: %w", err)
	}
	store, err := statusstore.New(statusstore.Database{
		Pool: db, Dialect: migrate.MySQL, Files: sub, Names: names, Server: mysqllog.Server, MaxName: 255, MaxText: 1000,
	}, cfg.Shards)
	if err != nil {
		return nil, err
	}
	return &statusStore{store, server{transactions{db}, cfg.Poll, store.Watch}}, nil
}
