package sqlstore

import (
	"context"
	"database/sql"

	"github.com/millrace-go/millrace/outbox/driver"
)

// chunk bounds one transaction of RetryAll.
const chunk = 500

// RetryAll retries parked events, in transactions of bounded size.
func RetryAll(ctx context.Context, s driver.Parking) (total int, err error) {
	for after := int64(0); ; {
		parked, err := s.Parked(ctx, after, chunk)
		if err != nil || len(parked) == 0 {
			return total, err
		}
		ids := make([]int64, len(parked))
		for i, p := range parked {
			ids[i] = p.ID
		}
		after = ids[len(ids)-1]
		n, err := s.Retry(ctx, ids...)
		total += n
		if err != nil {
			return total, err
		}
	}
}

// ScanParked reads a row of failed_list.
func ScanParked(rows *sql.Rows) (p driver.ParkedEvent, err error) {
	var created, first, parked int64
	err = rows.Scan(&p.ID, &p.Shard, &p.Topic, &p.MessageID, &p.Key, &p.Headers, &p.Payload,
		&created, &p.Attempts, &p.LastError, &first, &parked)
	p.CreatedAt, p.FirstFailedAt, p.ParkedAt = Instant(created), Instant(first), Instant(parked)
	return p, err
}

// ScanFailing reads a row of failing.
func ScanFailing(rows *sql.Rows) (f driver.FailingEvent, err error) {
	var created, age, since, next int64
	err = rows.Scan(&f.ID, &f.Shard, &f.Topic, &f.MessageID, &f.Key, &created, &f.Aside,
		&f.Attempts, &f.Retries, &age, &f.LastError, &since, &next)
	f.CreatedAt, f.Age = Instant(created), Micros(age)
	f.FailedSince, f.NextAttemptAt = Instant(since), Instant(next)
	return f, err
}

// ScanAside reads a row of aside_keys.
func ScanAside(rows *sql.Rows) (a driver.Aside, err error) {
	var wait int64
	err = rows.Scan(&a.Key, &a.Count, &wait)
	a.Wait = Micros(wait)
	return a, err
}
