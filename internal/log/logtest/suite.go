package logtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/sqltx"
)

// Tables are the tables that the suite needs.
var Tables = sqllog.Tables{
	Messages: "suite_messages", Cursors: "suite_cursors", Labels: []string{"kind", "about"}, Package: "suite",
}

// Open returns a fresh log with the given tables, which exist and are empty, and its pool. Both
// end with the test.
type Open func(t testing.TB, tables sqllog.Tables) (sqllog.Log, *sql.DB)

// Migrate makes the tables of a log, or ends the test.
func Migrate(t testing.TB, l sqllog.Log, db *sql.DB) {
	t.Helper()
	set, err := l.Migrations()
	if err == nil {
		err = set.Up(t.Context(), db)
	}
	if err != nil {
		t.Fatal(err)
	}
}

type testCase = conformance.Case[*Fixture]

// Run runs every case as a subtest on a log of its own.
func Run(t *testing.T, open Open) {
	t.Helper()
	Suite().Run(t, func(t *testing.T) *Fixture {
		log, db := open(t, Tables)
		return &Fixture{Log: log, DB: db}
	})
}

// Suite returns the properties of a log.
func Suite() conformance.Suite[*Fixture] {
	return conformance.Suite[*Fixture]{
		Cases: slices.Concat(readCases(), leaseCases(), cursorCases(), failoverCases(), []testCase{
			{Name: "Stress", Run: stress},
			{Name: "TwoConsumers", Run: twoConsumers},
		}),
	}
}

// Fixture is a log under test.
type Fixture struct {
	Log sqllog.Log
	DB  *sql.DB
}

const (
	long  = time.Minute           // a lease that does not expire during a case
	short = 50 * time.Millisecond // a lease that expires
)

// cursor is the cursor that most cases use.
var cursor = log.Cursor{Consumer: "group", Lane: 1}

// entry makes an entry for a lane.
func entry(lane int, id string) log.Entry {
	return log.Entry{
		Lane: lane, Topic: "topic", MessageID: id, Key: "key", Headers: `{"a":"b"}`,
		Payload: []byte("payload of " + id), Labels: []string{"kind of " + id, "about " + id},
	}
}

// add appends entries to a lane and commits.
func (f *Fixture) add(ctx context.Context, lane int, ids ...string) error {
	entries := make([]log.Entry, len(ids))
	for i, id := range ids {
		entries[i] = entry(lane, id)
	}
	return f.append(ctx, entries...)
}

func (f *Fixture) append(ctx context.Context, entries ...log.Entry) error {
	return sqltx.Do(ctx, f.DB, func(ctx context.Context, tx *sql.Tx) error {
		return f.Log.Append(ctx, tx, entries)
	})
}

// read reads once and returns the message ids.
func (f *Fixture) read(ctx context.Context, lane int, after log.Position, max int) ([]string, log.Position, error) {
	entries, next, err := f.Log.Read(ctx, lane, after, max)
	return ids(entries), next, err
}

// wantRead reads once and compares.
func (f *Fixture) wantRead(ctx context.Context, lane int, after log.Position, max int, want ...string) (log.Position, error) {
	got, next, err := f.read(ctx, lane, after, max)
	if err == nil && !slices.Equal(got, want) {
		err = fmt.Errorf("read %q, want %q", got, want)
	}
	return next, err
}

// leaseSoon takes a lease that becomes free within seconds.
func (f *Fixture) leaseSoon(ctx context.Context, c log.Cursor, holder string) (log.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		l, err := f.Log.Lease(ctx, c, holder, long)
		if !errors.Is(err, log.ErrLeaseHeld) {
			return l, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return l, fmt.Errorf("the lease did not become free: %w", ctx.Err())
		}
	}
}

func ids(entries []log.Entry) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.MessageID
	}
	return out
}

// wantErr compares an error with a sentinel.
func wantErr(what string, got, want error) error {
	switch {
	case errors.Is(got, want):
		return nil
	case got == nil:
		return fmt.Errorf("%s: no error, want: %w", what, want)
	case want == nil:
		return fmt.Errorf("%s: %w", what, got)
	}
	return fmt.Errorf("%s: want %q, got: %w", what, want.Error(), got)
}

// wantCount checks the count returned by a call.
func wantCount(what string, want int) func(got int, err error) error {
	return func(got int, err error) error {
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if got != want {
			return fmt.Errorf("%s: %d, want %d", what, got, want)
		}
		return nil
	}
}
