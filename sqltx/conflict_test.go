package sqltx_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-go/millrace/sqltx"
)

func onPostgres(code string) error { return &pgconn.PgError{Code: code, Message: "m"} }

func onMySQL(number uint16, state string) error {
	e := &mysql.MySQLError{Number: number, Message: "Deadlock found: try again"}
	copy(e.SQLState[:], state)
	return e
}

func TestIsConflict(t *testing.T) {
	other := errors.New("other")
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"nil":                             {nil, false},
		"unknown":                         {other, false},
		"serialization failure":           {onPostgres("40001"), true},
		"deadlock on PostgreSQL":          {onPostgres("40P01"), true},
		"lock timeout":                    {onPostgres("55P03"), false},
		"unknown completion":              {onPostgres("40003"), false},
		"a failed transaction":            {onPostgres("25P02"), false},
		"unique":                          {onPostgres("23505"), false},
		"deadlock on MySQL":               {onMySQL(1213, "40001"), true},
		"deadlock without a state":        {onMySQL(1213, ""), true},
		"changed since read":              {onMySQL(1020, "HY000"), true},
		"refused by certification":        {onMySQL(3101, "40000"), true},
		"lock wait":                       {onMySQL(1205, "HY000"), false},
		"a longer number":                 {onMySQL(12130, "HY000"), false},
		"wrapped":                         {fmt.Errorf("a: %w", fmt.Errorf("b: %w", onMySQL(1213, "40001"))), true},
		"wrapped twice at once":           {fmt.Errorf("%w: %w", other, onPostgres("40001")), true},
		"joined behind another state":     {errors.Join(onPostgres("23505"), onPostgres("40P01")), true},
		"joined without":                  {errors.Join(other, onPostgres("23505")), false},
		"a text about somebody else's":    {errors.New("the gateway said: Error 1213 (40001): Deadlock found"), false},
		"a text that only begins so":      {errors.New("error 1213"), false},
		"another client's capital word":   {errors.New("ERROR 1213 (40001): Deadlock found when trying to get lock"), true},
		"an error that unwraps to no one": {hollowError{}, false},
	} {
		if got := sqltx.IsConflict(tc.err); got != tc.want {
			t.Errorf("%s: IsConflict(%v) = %v, want %v", name, tc.err, got, tc.want)
		}
	}
}

type hollowError struct{}

func (hollowError) Error() string { return "hollow" }
func (hollowError) Unwrap() error { return nil }
