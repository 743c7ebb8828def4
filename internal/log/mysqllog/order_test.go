package mysqllog_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/mysqllog"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

func TestLateCommitIsReadAfterwards(t *testing.T) {
	servicetest.EachMySQL(t, testLateCommitIsReadAfterwards)
}

func testLateCommitIsReadAfterwards(t *testing.T, _ servicetest.MySQLServer) {
	l, db := open(t)
	late, never := begin(t, db), begin(t, db)
	for tx, id := range map[*sql.Tx]string{late: "late", never: "never"} {
		require.NoError(t, l.Append(t.Context(), tx, entries(1, id)))
	}
	add(t, l, db, 1, "a", "b")
	at := want(t, l, 1, log.Position{}, "a", "b")
	add(t, l, db, 1, "c")
	at = want(t, l, 1, at, "c")
	require.NoError(t, never.Rollback())
	at = want(t, l, 1, at)
	commit(t, late)
	add(t, l, db, 1, "d")
	at = want(t, l, 1, at, "late", "d")
	want(t, l, 1, at)
	// A later reader reads the same entries in the same order.
	want(t, l, 1, log.Position{}, "a", "b", "c", "late", "d")
}

// More rows than one pass takes: rows that commit between two passes, with an id below the
// remaining ones, come before them.
func TestKeyOrderAcrossPasses(t *testing.T) { servicetest.EachMySQL(t, testKeyOrderAcrossPasses) }

func testKeyOrderAcrossPasses(t *testing.T, _ servicetest.MySQLServer) {
	l, db := open(t)
	early := begin(t, db)
	require.NoError(t, l.Append(t.Context(), early, entries(1, "version 1")))
	const filler = 6000
	ids := make([]string, filler)
	for i := range ids {
		ids[i] = strconv.Itoa(i)
	}
	add(t, l, db, 1, ids...)
	page, next, err := l.Read(t.Context(), 1, log.Position{}, 10)
	if err != nil || len(page) != 10 {
		t.Fatalf("read %d entries, %v", len(page), err)
	}
	commit(t, early)
	add(t, l, db, 1, "version 2")
	var got []string
	for {
		page, after, err := l.Read(t.Context(), 1, next, 1000)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			got = append(got, e.MessageID)
		}
		next = after
	}
	first, second := slices.Index(got, "version 1"), slices.Index(got, "version 2")
	if len(got) != filler-10+2 || first < 0 || second < first {
		t.Errorf("read %d entries, version 1 at %d, version 2 at %d; want %d, and 1 before 2", len(got), first, second, filler-10+2)
	}
}

// Several groups read one lane at once, each giving places, while many writers append: all
// groups see the same entries at the same places.
func TestReadersAgree(t *testing.T) { servicetest.EachMySQL(t, testReadersAgree) }

func testReadersAgree(t *testing.T, server servicetest.MySQLServer) {
	const readers, writers, rounds = 4, 6, 40
	url := server.URL(t)
	l, db := openURL(t, url)
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range rounds {
				err := sqltx.Do(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
					if err := l.Append(ctx, tx, entries(1, fmt.Sprint(w, "/", i))); err != nil {
						return err
					}
					return backoff.Sleep(ctx, rand.N(2*time.Millisecond))
				})
				assert.NoError(t, err)
			}
		})
	}
	done := make(chan struct{})
	go func() { writing.Wait(); close(done) }()
	var seen [readers][]string
	var reading sync.WaitGroup
	for r := range readers {
		l, _ := openURL(t, url)
		reading.Go(func() {
			var at log.Position
			for last := false; ; {
				page, next, err := l.Read(t.Context(), 1, at, 1+rand.IntN(20))
				if err != nil {
					t.Error(err)
					return
				}
				for _, e := range page {
					seen[r] = append(seen[r], fmt.Sprint(e.Position.ID, " ", e.ID, " ", e.MessageID))
				}
				if at = next; len(page) > 0 {
					continue
				}
				if last {
					return
				}
				select {
				case <-done:
					last = true
				default:
				}
			}
		})
	}
	reading.Wait()
	for r := range seen {
		if len(seen[r]) != writers*rounds || !slices.Equal(seen[r], seen[0]) {
			t.Errorf("reader %d saw %d entries, want the %d that reader 0 saw, in its order", r, len(seen[r]), writers*rounds)
		}
	}
}

func openURL(t *testing.T, url string) (*mysqllog.Log, *sql.DB) {
	t.Helper()
	return openWith(t, tables, pool(t, url))
}
