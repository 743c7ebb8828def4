package sqlitelog_test

import (
	"context"
	"database/sql"
	"strconv"
	"testing"

	"github.com/millrace-go/millrace/internal/sqllog"
	"github.com/millrace-go/millrace/sqltx"
)

func BenchmarkAppend(b *testing.B) {
	log, db, _ := open(b, tables)
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			entries := make([]sqllog.Entry, n)
			for i := range entries {
				entries[i] = sqllog.Entry{Lane: 1, Topic: "t", MessageID: "0198c0de-0000-7000-8000-000000000000", Key: "k", Payload: make([]byte, 500)}
			}
			for b.Loop() {
				err := sqltx.Do(b.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
					return log.Append(ctx, tx, entries)
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}

func BenchmarkRead(b *testing.B) {
	log, db, _ := open(b, tables)
	entries := make([]sqllog.Entry, 10_000)
	for i := range entries {
		entries[i] = sqllog.Entry{Lane: i % 3, Topic: "t", MessageID: "0198c0de-0000-7000-8000-000000000000", Key: "k", Payload: make([]byte, 500)}
	}
	err := sqltx.Do(b.Context(), db, func(ctx context.Context, tx *sql.Tx) error { return log.Append(ctx, tx, entries) })
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{1, 256, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var at sqllog.Position
			read := 0
			for b.Loop() {
				page, next, err := log.Read(b.Context(), 1, at, n)
				if err != nil {
					b.Fatal(err)
				}
				read, at = read+len(page), next
				if len(page) < n {
					at = sqllog.Position{}
				}
			}
			b.ReportMetric(float64(read)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}
