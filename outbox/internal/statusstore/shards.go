package statusstore

import (
	"context"

	"github.com/millrace-go/millrace/sqltx"
)

// Shards implements driver.Store.
func (s *Store) Shards(ctx context.Context) (int, error) { return s.number.Store(ctx, s.db) }

// settings connects the number of shards with its statements.
func (s *Store) settings() {
	s.number.Put = func(ctx context.Context, x sqltx.Execer, name, value string) (int64, error) {
		return s.sql.settingPut.exec(ctx, x, name, value)
	}
	s.number.Check = func(ctx context.Context, x sqltx.Execer, name, value string) (int64, error) {
		return s.sql.settingCheck.exec(ctx, x, name, value)
	}
	s.number.Get = func(ctx context.Context, name string) (stored string, err error) {
		_, err = s.sql.settingGet.one(ctx, s.db, &stored)(name)
		return stored, err
	}
}
