package store

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/queue/queuetest"
)

// servers are fresh databases on every server.
func servers(t *testing.T, test func(t *testing.T, url string)) {
	t.Run("postgres", func(t *testing.T) { test(t, servicetest.PostgresURL(t)) })
	servicetest.EachMySQL(t, func(t *testing.T, server servicetest.MySQLServer) { test(t, server.URL(t)) })
}

func TestPositional(t *testing.T) {
	for query, want := range map[string]struct {
		text  string
		order []int
	}{
		"SELECT 1":                       {"SELECT 1", nil},
		"SELECT ?":                       {"SELECT ?", nil},
		"a = $1 AND b = $2":              {"a = ? AND b = ?", []int{0, 1}},
		"SET a = $2, b = $3 WHERE c=$1":  {"SET a = ?, b = ? WHERE c=?", []int{1, 2, 0}},
		"($1, $10, $1) costs $0 and a$x": {"(?, ?, ?) costs $0 and a$x", []int{0, 9, 0}},
	} {
		text, order := positional(query)
		if text != want.text || !reflect.DeepEqual(order, want.order) {
			t.Errorf("%s: %s %v", query, text, order)
		}
	}
}

// Parameters in any order, given twice, and prepared, mean the same on every
// database; so does ||.
func TestParametersOnServers(t *testing.T) {
	servers(t, func(t *testing.T, url string) {
		s := reopen(t, url)
		const query = `SELECT CAST($2 AS CHAR(1)) || CAST($1 AS CHAR(1)) || CAST($2 AS CHAR(1))`
		var got string
		if err := s.DB().QueryRow(query, "a", "b").Scan(&got); err != nil || got != "bab" {
			t.Errorf("queried: %q, %v", got, err)
		}
		stmt, err := s.DB().Prepare(query)
		require.NoError(t, err)
		defer stmt.Close() //nolint:errcheck // the pool's end closes it
		if err := stmt.QueryRow("x", "y").Scan(&got); err != nil || got != "yxy" {
			t.Errorf("prepared: %q, %v", got, err)
		}
	})
}

func TestUpdateOnServers(t *testing.T) {
	servers(t, func(t *testing.T, url string) {
		s := reopen(t, url)
		err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			var title string
			var position int
			const q = `UPDATE shows SET title = $2 WHERE show_id = $1 AND position < $3 RETURNING title, position`
			if err := s.Update(ctx, tx, q, []any{"show-2", "New", 3}, &title, &position); err != nil {
				return err
			}
			if title != "New" || position != 2 {
				t.Errorf("returned %q, %d", title, position)
			}
			assert.ErrorIs(t, s.Update(ctx, tx, q, []any{"show-3", "New", 3}, &title, &position), sql.ErrNoRows, "a condition that does not hold")
			return nil
		})
		require.NoError(t, err)
	})
}

// Processes that start together make one set of tables and seats.
func TestProcessesStartTogether(t *testing.T) {
	servers(t, func(t *testing.T, url string) {
		stores := make([]*Store, 4)
		var wg sync.WaitGroup
		for i := range stores {
			wg.Go(func() {
				var err error
				if stores[i], err = Open(context.Background(), url); err != nil {
					t.Errorf("process %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		for _, s := range stores {
			if s == nil {
				continue
			}
			assert.Equal(t, 5*Rows*SeatsPerRow, count(t, s, `SELECT COUNT(*) FROM seats`), "seats")
			assert.NoError(t, s.Close())
		}
	})
}

// Writers that lock the same rows in opposite orders all succeed.
func TestDeadlocksAreTriedAgain(t *testing.T) {
	servers(t, func(t *testing.T, url string) {
		s := reopen(t, url)
		var wg sync.WaitGroup
		for i := range 2 { // PostgreSQL takes a second to see a deadlock
			wg.Go(func() {
				order := []string{"show-1", "show-2"}
				if i%2 == 1 {
					order[0], order[1] = order[1], order[0]
				}
				for range 3 {
					err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
						for _, id := range order {
							if _, err := tx.ExecContext(ctx, `UPDATE shows SET view_count = view_count + 1 WHERE show_id = $1`, id); err != nil {
								return err
							}
						}
						return nil
					})
					assert.NoErrorf(t, err, "writer %d", i)
				}
			})
		}
		wg.Wait()
		assert.Equal(t, 12, count(t, s, `SELECT SUM(view_count) FROM shows`), "views")
	})
}

func TestLeasesOnServers(t *testing.T) {
	servers(t, func(t *testing.T, url string) {
		s := reopen(t, url)
		mine, err := s.TakeLease(t.Context(), "job", "a", time.Minute)
		require.NoError(t, err)
		if _, err := s.TakeLease(t.Context(), "job", "b", time.Minute); !errors.Is(err, ErrLeaseHeld) {
			t.Errorf("taken twice: %v", err)
		}
		again, err := s.TakeLease(t.Context(), "job", "a", time.Minute)
		if err != nil || again.Token() != mine.Token() {
			t.Errorf("taken anew: token %d, %v; was %d", again.Token(), err, mine.Token())
		}
		require.NoError(t, mine.Drop(t.Context()))
		theirs, err := s.TakeLease(t.Context(), "job", "b", time.Minute)
		if err != nil || theirs.Token() <= mine.Token() {
			t.Errorf("after it was given back: token %d, %v; was %d", theirs.Token(), err, mine.Token())
		}
		assert.ErrorIs(t, mine.Renew(t.Context(), time.Minute), ErrLeaseLost, "renewed after it was lost")
	})
}

func TestRoomSettingsOnServers(t *testing.T) {
	servers(t, func(t *testing.T, url string) {
		assert.NoError(t, queuetest.CheckSettings(t.Context(), reopen(t, url).RoomSettings()))
	})
}
