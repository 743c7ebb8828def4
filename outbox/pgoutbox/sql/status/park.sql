-- Gives an event up.
-- $1 shard, $2 seq, $3 attempts, $4 retries, $5 age, $6 error, $7 id.
UPDATE outbox_events SET
	state = 'FAILED', attempts = $3, retry_count = $4, age_us = $5, last_error = $6,
	first_failed_at = coalesce(first_failed_at, clock_timestamp()), next_retry_at = NULL, failed_at = clock_timestamp()
WHERE shard = $1 AND seq = $2 AND id = $7 AND state = 'PENDING'
