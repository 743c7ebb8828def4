-- Failing events that keep their place.
-- ? shard.
SELECT id, attempts, age_us,
	GREATEST(0, COALESCE(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), next_retry_at), 0))
FROM outbox_retries WHERE shard = ? AND NOT aside
