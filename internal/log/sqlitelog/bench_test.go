package sqlitelog_test

import (
	"context"
	"database/sql"
	"strconv"
	"testing"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/sqltx"
)

func BenchmarkAppend(b *testing.B) {
	l, db, _ := open(b, tables)
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			entries := make([]log.Entry, n)
			for i := range entries {
				entries[i] = log.Entry{Lane: 1, Topic: "t", MessageID: "0198c0de-0000-7000-8000-000000000000", Key: "k", Payload: make([]byte, 500)}
			}
			for b.Loop() {
				err := sqltx.Do(b.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
					return l.Append(ctx, tx, entries)
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
	l, db, _ := open(b, tables)
	entries := make([]log.Entry, 10_000)
	for i := range entries {
		entries[i] = log.Entry{Lane: i % 3, Topic: "t", MessageID: "0198c0de-0000-7000-8000-000000000000", Key: "k", Payload: make([]byte, 500)}
	}
	err := sqltx.Do(b.Context(), db, func(ctx context.Context, tx *sql.Tx) error { return l.Append(ctx, tx, entries) })
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{1, 256, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var at log.Position
			read := 0
			for b.Loop() {
				page, next, err := l.Read(b.Context(), 1, at, n)
				if err != nil {
					b.Fatal(err)
				}
				read, at = read+len(page), next
				if len(page) < n {
					at = log.Position{}
				}
			}
			b.ReportMetric(float64(read)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}
