-- Notes a failed event, in its place or aside, or one that moves aside behind another.
-- ?1 shard, ?2 seq, ?3 aside, ?4 attempts, ?5 retries, ?6 age, ?7 error, ?8 microseconds until the next attempt,
-- ?9 id.
UPDATE outbox_events SET
	aside = ?3, attempts = ?4, retry_count = ?5, age_us = ?6, last_error = ?7,
	first_failed_at = CASE WHEN ?4 > 0 THEN COALESCE(first_failed_at, UTC_TIMESTAMP(6)) END,
	next_retry_at = CASE WHEN ?4 > 0 THEN TIMESTAMPADD(MICROSECOND, ?8, UTC_TIMESTAMP(6)) END
WHERE shard = ?1 AND seq = ?2 AND id = ?9 AND state = 'PENDING'
