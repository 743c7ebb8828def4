-- Failing events that keep their place.
-- $1 shard.
SELECT seq, attempts, retry_count, age_us,
	greatest(0, coalesce(extract(epoch FROM next_retry_at - clock_timestamp()) * 1000000, 0))::bigint,
	coalesce((extract(epoch FROM first_failed_at) * 1000000)::bigint, 0)
FROM outbox_events
WHERE shard = $1 AND state = 'PENDING' AND NOT aside AND (aside OR attempts > 0)
