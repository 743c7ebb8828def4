package statusstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/internal/sqlrows"
	"github.com/millrace-go/millrace/sqltx"
)

// statements is the text of each statement in the store's dialect.
type statements struct {
	append                                         statement
	leaseHeld, leasePut, leaseTake, leaseGet       statement
	extend, release, holders                       statement
	publish, fail, park                            statement
	asideKeys, asideRead                           statement
	failedList, failedTake, failedDrop, failCounts statement
	failing, backlog                               statement

	// Not every dialect has these.
	settle, settleRange  statement // extend and publish in one
	held                 statement // for a reader that does not return attempts
	read, late, readSome statement // see pending
	watch                statement
	pruneFind, prune     statement // for a store without its own Prune
}

func (s *statements) load(files fs.FS, dialect, server string) error {
	optional := map[string]*statement{
		"append": &s.append, "settle": &s.settle, "settle_range": &s.settleRange, "held": &s.held,
		"read": &s.read, "late": &s.late, "read_some": &s.readSome, "watch": &s.watch,
		"prune_find": &s.pruneFind, "prune": &s.prune,
	}
	needed := map[string]*statement{
		"lease_held": &s.leaseHeld, "lease_put": &s.leasePut, "lease_take": &s.leaseTake, "lease_get": &s.leaseGet,
		"extend": &s.extend, "release": &s.release, "holders": &s.holders,
		"publish": &s.publish, "fail": &s.fail, "park": &s.park,
		"aside_keys": &s.asideKeys, "aside_read": &s.asideRead,
		"failing": &s.failing, "failed_list": &s.failedList, "failed_take": &s.failedTake, "failed_drop": &s.failedDrop, "failed_counts": &s.failCounts,
		"backlog": &s.backlog,
	}
	read := func(name string, into *statement, must bool) error {
		text, err := fs.ReadFile(files, name+".sql")
		if errors.Is(err, fs.ErrNotExist) && !must {
			return nil
		}
		if err != nil {
			return fmt.Errorf("outbox: statements: %w", err)
		}
		*into = parse(strings.ReplaceAll(string(text), "{{server}}", server), dialect)
		return nil
	}
	for name, into := range needed {
		if err := read(name, into, true); err != nil {
			return err
		}
	}
	for name, into := range optional {
		if err := read(name, into, false); err != nil {
			return err
		}
	}
	return nil
}

// statement is a text with numbered parameters. MySQL has no numbers, so there every mention of
// a parameter is a separate argument.
type statement struct {
	text  string
	order []int // the argument of each placeholder, from 0; nil as given
}

var (
	numbered = regexp.MustCompile(`\?(\d+)`)
	comment  = regexp.MustCompile(`(?m)^\s*--.*\n?`)
)

func parse(text, dialect string) statement {
	text = comment.ReplaceAllString(text, "")
	if dialect != "mysql" {
		return statement{text: text}
	}
	st := statement{order: []int{}}
	st.text = numbered.ReplaceAllStringFunc(text, func(p string) string {
		n, _ := strconv.Atoi(p[1:]) // digits, by the regular expression
		st.order = append(st.order, n-1)
		return "?"
	})
	return st
}

func (st statement) empty() bool { return st.text == "" }

func (st statement) args(given []any) []any {
	if st.order == nil {
		return given
	}
	out := make([]any, len(st.order))
	for i, n := range st.order {
		out[i] = given[n]
	}
	return out
}

// exec runs the statement and returns how many rows it affected.
func (st statement) exec(ctx context.Context, x sqltx.Execer, args ...any) (int64, error) {
	res, err := x.ExecContext(ctx, st.text, st.args(args)...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// each runs the statement and calls row for each of its rows.
func (st statement) each(ctx context.Context, q sqlrows.Querier, row func(*sql.Rows) error, args ...any) error {
	return sqlrows.Each(ctx, q, row, st.text, st.args(args)...)
}

// all runs the statement and returns what scan makes of each of its rows.
func all[T any](ctx context.Context, q sqlrows.Querier, st statement, scan func(*sql.Rows) (T, error), args ...any) ([]T, error) {
	return sqlrows.All(ctx, q, scan, st.text, st.args(args)...)
}

// one runs the statement and scans its first row, if there is one.
func (st statement) one(ctx context.Context, q sqlrows.Querier, into ...any) func(args ...any) (bool, error) {
	return func(args ...any) (found bool, err error) {
		err = st.each(ctx, q, func(rows *sql.Rows) error {
			if found {
				return nil
			}
			found = true
			return rows.Scan(into...)
		}, args...)
		return found, err
	}
}
