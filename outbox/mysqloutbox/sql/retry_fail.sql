-- Notes another failure of an event that stands aside.
-- ? id, ? attempts, ? age, ? error, ? microseconds until the next attempt.
UPDATE (SELECT ? AS id) AS event STRAIGHT_JOIN outbox_retries AS r ON r.id = event.id SET
	r.attempts = ?, r.age_us = ?, r.last_error = ?,
	r.first_failed_at = COALESCE(r.first_failed_at, UTC_TIMESTAMP(6)),
	r.next_retry_at = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
