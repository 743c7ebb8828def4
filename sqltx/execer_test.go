package sqltx_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

// Stand-ins with the method sets of common wrappers.
type (
	sqlxDB   struct{ *sql.DB }   // sqlx.DB, bun.DB, dbr.Connection
	sqlxConn struct{ *sql.Conn } // sqlx.Conn, bun.Conn
	sqlxTx   struct{ *sql.Tx }   // sqlx.Tx
	bunTx    struct{ *sql.Tx }   // bun.Tx, handed over by value; it can begin savepoints
	// gorm.PreparedStmtTX: a transaction behind an interface.
	gormPool interface {
		sqltx.Execer
		Commit() error
		Rollback() error
	}
	gormTx struct{ gormPool }
	// A session of a unit of work: a pool until it has begun.
	unitOfWork struct {
		*sql.DB
		tx *sql.Tx
	}
	inSpring struct{ unitOfWork }
	// A user's own wrapper.
	logged    struct{ inner sqltx.Execer }
	declared  struct{ logged }
	embedding struct{ sqltx.Execer }
	native    struct{ logged } // like pgx
)

func (bunTx) BeginTx(context.Context, *sql.TxOptions) (bunTx, error) { return bunTx{}, nil }
func (u unitOfWork) Commit() error                                   { return u.tx.Commit() }
func (u unitOfWork) Rollback() error                                 { return u.tx.Rollback() }
func (u inSpring) InTransaction() bool                               { return u.tx != nil }
func (d declared) InTransaction() bool                               { return d.inner != nil }
func (native) Commit(context.Context) error                          { return nil }
func (native) Rollback(context.Context) error                        { return nil }
func (l logged) ExecContext(ctx context.Context, q string, a ...any) (sql.Result, error) {
	return l.inner.ExecContext(ctx, q, a...)
}

func TestCheckTx(t *testing.T) {
	_, db := servicetest.SQLite(t)
	tx, err := db.Begin()
	require.NoError(t, err)
	defer tx.Rollback() //nolint:errcheck // nothing was done in it
	for name, x := range map[string]sqltx.Execer{
		"*sql.Tx":                         tx,
		"sqlx.Tx":                         &sqlxTx{Tx: tx},
		"sqlx.Tx by value":                sqlxTx{Tx: tx},
		"bun.Tx":                          bunTx{Tx: tx},
		"gorm's prepared transaction":     &gormTx{tx},
		"one that commits as pgx does":    native{logged{tx}},
		"a wrapper that declares itself":  declared{logged{tx}},
		"a pool's wrapper that has begun": inSpring{unitOfWork{db, tx}},
	} {
		assert.NoErrorf(t, sqltx.CheckTx(x), "%s is refused", name)
	}
	for name, tc := range map[string]struct {
		x    sqltx.Execer
		says string
	}{
		"nothing":                         {nil, "got nil"},
		"a nil *sql.Tx":                   {(*sql.Tx)(nil), "got a nil *sql.Tx"},
		"a nil *sql.DB":                   {(*sql.DB)(nil), "got a nil *sql.DB"},
		"a nil sqlx.Tx":                   {(*sqlxTx)(nil), "got a nil *sqltx_test.sqlxTx"},
		"a pool":                          {db, "got a *sql.DB, which is a pool or a connection"},
		"a connection":                    {&sql.Conn{}, "got a *sql.Conn, which is a pool or a connection"},
		"sqlx.DB":                         {&sqlxDB{db}, "got a *sqltx_test.sqlxDB, which is a pool or a connection"},
		"bun.DB by value":                 {sqlxDB{db}, "got a sqltx_test.sqlxDB, which is a pool"},
		"sqlx.Conn":                       {sqlxConn{&sql.Conn{}}, "which is a pool or a connection"},
		"sqlx.Tx around nothing":          {&sqlxTx{}, "got a *sqltx_test.sqlxTx around a nil *sql.Tx"},
		"bun.Tx around nothing":           {bunTx{}, "got a sqltx_test.bunTx around a nil *sql.Tx"},
		"gorm's around nothing":           {gormTx{}, "around a nil sqltx_test.gormPool"},
		"gorm's around a nil *sql.Tx":     {gormTx{(*sql.Tx)(nil)}, "around a nil *sql.Tx"},
		"nothing, two wrappers deep":      {struct{ bunTx }{}, "around a nil *sql.Tx"},
		"a pool that commits":             {unitOfWork{db, tx}, "which is a pool or a connection"},
		"a pool's wrapper that has not":   {inSpring{unitOfWork{db, nil}}, "whose InTransaction says that it is in none"},
		"an undeclared wrapper":           {logged{tx}, "neither Commit and Rollback nor InTransaction"},
		"an embedded interface":           {embedding{db}, "neither Commit and Rollback nor InTransaction"},
		"a declared one around nothing":   {declared{}, "whose InTransaction says that it is in none"},
		"a nil pointer to a declared one": {(*declared)(nil), "got a nil *sqltx_test.declared"},
	} {
		err := sqltx.CheckTx(tc.x)
		if !errors.Is(err, sqltx.ErrNoTransaction) || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "pass the *sql.Tx") {
			t.Errorf("%s: CheckTx = %v; want an error with %q and what to pass", name, err, tc.says)
		}
	}
}
