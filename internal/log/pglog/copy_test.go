package pglog

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log"
)

// COPY appends the same rows as a statement would, in the order of each lane. A refused entry
// leaves no row behind, and the pool stays usable.
func TestCopy(t *testing.T) {
	const lanes = 3
	entries := make([]log.Entry, 2*copyRows)
	for i := range entries {
		e := entry(fmt.Sprint("m", i))
		e.Lane, e.Key, e.Headers, e.Labels = i%lanes, fmt.Sprint("키", i), `{"a":"b"}`, []string{fmt.Sprint("label", i)}
		e.Payload = []byte{0, byte(i), 0xff}
		entries[i] = e
	}
	entries[7].Payload, entries[8].Headers, entries[9].Key = nil, "", ""

	rows := func(copied bool) (all []string) {
		l, db := open(t)
		ctx := t.Context()
		if copied {
			bad := append(entries[:len(entries):len(entries)], entry("no \x00 text"))
			assert.Error(t, l.Append(ctx, db, bad), "a text that PostgreSQL refuses was appended")
			if done, err := l.copy(ctx, db, log.ByLane(entries)); err != nil || !done {
				t.Fatal(done, err)
			}
		} else {
			tx := begin(t, db)
			require.NoError(t, l.Append(ctx, tx, entries))
			commit(t, tx)
		}
		found, err := db.QueryContext(ctx, `SELECT concat_ws('|', lane, topic, message_id, message_key, headers, payload, kind)
			FROM log_messages ORDER BY lane, id`)
		require.NoError(t, err)
		defer found.Close()
		for found.Next() {
			var row string
			require.NoError(t, found.Scan(&row))
			all = append(all, row)
		}
		require.NoError(t, found.Err())
		return all
	}
	got, want := rows(true), rows(false)
	if len(want) != len(entries) || !reflect.DeepEqual(got, want) {
		t.Errorf("COPY appended %d rows, a statement %d; they are not the same: %.3q…, want %.3q…", len(got), len(want), got, want)
	}
}
