-- Failing events that keep their place.
-- $1 shard.
SELECT id, attempts, age_us,
	greatest(0, coalesce(extract(epoch FROM next_retry_at - clock_timestamp()) * 1000000, 0))::bigint
FROM outbox_retries WHERE shard = $1 AND NOT aside
