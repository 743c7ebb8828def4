package sqlrows_test

import (
	"database/sql"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sqlrows"
)

const three = `SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3`

func TestAll(t *testing.T) {
	_, db := servicetest.SQLite(t)
	got, err := sqlrows.Column[int](t.Context(), db, three)
	if err != nil || !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("the column is %v, %v", got, err)
	}
	none, err := sqlrows.Column[int](t.Context(), db, `SELECT 1 WHERE 1 = ?`, 2)
	if err != nil || none != nil {
		t.Errorf("no rows are %v, %v", none, err)
	}
	if got, err = sqlrows.Column[int](t.Context(), db, `SELECT 1 UNION ALL SELECT 'x'`); err == nil || got != nil {
		t.Errorf("a row that cannot be read gave %v, %v", got, err)
	}
}

// The pool has its one connection back after each outcome.
func TestEach(t *testing.T) {
	_, db := servicetest.SQLite(t)
	db.SetMaxOpenConns(1)
	enough := errors.New("enough")
	seen := 0
	for range 3 {
		err := sqlrows.Each(t.Context(), db, func(*sql.Rows) error { seen++; return enough }, three)
		assert.ErrorIs(t, err, enough, "the error of a row became")
		assert.Error(t, sqlrows.Each(t.Context(), db, func(*sql.Rows) error { return nil }, `SELECT nothing`), "a wrong query gave no error")
	}
	if seen != 3 {
		t.Errorf("%d rows were read after an error, want none", seen-3)
	}
}
