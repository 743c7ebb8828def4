package pglog

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log"
)

// Writers with savepoints, rollbacks and transactions that stay open, and a reader that takes
// windows in small pages: every committed row is read once, those of a key in the order of the
// commits.
func TestWindowsAgainstAModel(t *testing.T) {
	l, db := open(t)
	db.SetMaxOpenConns(16)
	type writer struct {
		tx   *sql.Tx
		rows map[int][]string // by key
	}
	const keys, steps = 5, 600
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	var open []*writer
	locked := map[int]*writer{} // a key's writers are serialized, as under its row's lock
	committed, got := map[string][]string{}, map[string][]string{}
	n := 0
	at := log.Position{}
	take := func(max int) int {
		entries, next, err := l.Read(t.Context(), 0, at, max)
		require.NoError(t, err)
		for _, e := range entries {
			got[e.Key] = append(got[e.Key], e.MessageID)
		}
		at = next
		if r.IntN(4) == 0 { // another holder continues from the stored position
			at.Server = ""
		}
		return len(entries)
	}
	end := func(i int, ok bool) {
		w := open[i]
		open = append(open[:i], open[i+1:]...)
		for key, rows := range w.rows {
			delete(locked, key)
			if ok {
				committed[fmt.Sprint(key)] = append(committed[fmt.Sprint(key)], rows...)
			}
		}
		if ok {
			commit(t, w.tx)
		} else if err := w.tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
	for range steps {
		switch what := r.IntN(10); {
		case what < 2 && len(open) < 6:
			w := &writer{tx: begin(t, db), rows: map[int][]string{}}
			if r.IntN(2) == 0 {
				_, err := w.tx.Exec(`SELECT pg_current_xact_id()`)
				require.NoError(t, err)
			}
			open = append(open, w)
		case what < 6 && len(open) > 0:
			w, key := open[r.IntN(len(open))], r.IntN(keys)
			if by := locked[key]; by != nil && by != w {
				continue
			}
			kept := r.IntN(4) > 0
			_, err := w.tx.Exec(`SAVEPOINT s`)
			require.NoError(t, err)
			var batch []log.Entry
			for range 1 + r.IntN(4) {
				n++
				e := entry(fmt.Sprint(n))
				e.Key = fmt.Sprint(key)
				batch = append(batch, e)
			}
			require.NoError(t, l.Append(t.Context(), w.tx, batch))
			locked[key] = w
			w.rows[key] = append(w.rows[key], []string{}...)
			if kept {
				for _, e := range batch {
					w.rows[key] = append(w.rows[key], e.MessageID)
				}
			} else if _, err := w.tx.Exec(`ROLLBACK TO SAVEPOINT s`); err != nil {
				t.Fatal(err)
			}
		case what < 8 && len(open) > 0:
			end(r.IntN(len(open)), r.IntN(4) > 0)
		default:
			take(1 + r.IntN(4))
		}
	}
	for len(open) > 0 {
		end(0, true)
	}
	for take(7) > 0 {
	}
	assert.Equalf(t, fmt.Sprint(committed), fmt.Sprint(got), "read\n%v\nwant\n%v", got, committed)
}
