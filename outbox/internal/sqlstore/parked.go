package sqlstore

import (
	"context"
	"database/sql"

	"github.com/millrace-go/millrace/outbox/driver"
)

// chunk bounds one transaction of RetryAll.
const chunk = 500

// RetryAll retries as many parked events as there are at the beginning, in transactions of bounded
// size. A publisher that still refuses them parks them again, behind the others: they stay parked.
func RetryAll(ctx context.Context, s interface {
	driver.Parking
	driver.Inspector
}) (total int, err error) {
	shards, err := s.Stats(ctx)
	if err != nil {
		return 0, err
	}
	left := 0
	for _, shard := range shards {
		left += shard.Parked
	}
	for after := int64(0); left > 0; {
		parked, err := s.Parked(ctx, after, min(left, chunk))
		if err != nil || len(parked) == 0 {
			return total, err
		}
		ids := make([]int64, len(parked))
		for i, p := range parked {
			ids[i] = p.ID
		}
		after = ids[len(ids)-1]
		left -= len(ids)
		n, err := s.Retry(ctx, ids...)
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// ParkedIn returns the shard of n in which a shard's parked events are counted: its own, or the
// last one if the outbox had more shards when they were parked.
func ParkedIn(shard, n int) int { return min(shard, n-1) }

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
