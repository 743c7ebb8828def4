package outboxbench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/proof/place"
)

// placesAtOnce bounds the rows to which the log gives places in one statement.
const placesAtOnce = 4096

// barePlaces is the ceiling of a log on MySQL, where each row gets its place after its
// commit: it gives every row of a drained outbox another place, in ranges of the primary
// key, and reads the next range meanwhile. It checks nothing and keeps no cursor.
func barePlaces(ctx context.Context, at place.Place, n int) (float64, error) {
	db, err := at.Open()
	if err != nil {
		return 0, err
	}
	defer db.Close() //nolint:errcheck // measured work is done
	var first, last, top int64
	if err := db.QueryRowContext(ctx, `SELECT MIN(id), MAX(id), MAX(seq) FROM outbox_messages`).Scan(&first, &last, &top); err != nil {
		return 0, err
	}
	start := time.Now()
	read, err := readRange(ctx, db, first)
	for from := first; err == nil && from <= last; from += placesAtOnce {
		next, failed, ended := 0, error(nil), make(chan struct{})
		go func() {
			defer close(ended)
			next, failed = readRange(ctx, db, from+placesAtOnce)
		}()
		_, err = db.ExecContext(ctx, `UPDATE outbox_messages SET seq = id + ? WHERE id >= ? AND id < ?`, top, from, from+placesAtOnce)
		<-ended
		read, err = read+next, errors.Join(err, failed)
	}
	if err == nil && read != n {
		err = fmt.Errorf("read %d of %d rows", read, n)
	}
	return float64(n) / time.Since(start).Seconds(), err
}

// readRange reads the rows of one range and returns how many there are.
func readRange(ctx context.Context, db *sql.DB, from int64) (n int, err error) {
	rows, err := db.QueryContext(ctx, `SELECT id, topic, message_id, message_key, headers, payload
		FROM outbox_messages WHERE id >= ? AND id < ?`, from, from+placesAtOnce)
	if err != nil {
		return 0, err
	}
	defer rows.Close() //nolint:errcheck // Err is checked below
	for ; rows.Next(); n++ {
		var id int64
		var topic, message, key, headers string
		var payload []byte
		if err := rows.Scan(&id, &topic, &message, &key, &headers, &payload); err != nil {
			return 0, err
		}
	}
	return n, rows.Err()
}
