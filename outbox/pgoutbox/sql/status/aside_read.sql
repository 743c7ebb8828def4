-- $1 shard, $2 keys, $3 rows.
SELECT seq, id::text, topic, event_key, headers, payload, (extract(epoch FROM created_at) * 1000000)::bigint,
	attempts, retry_count, age_us,
	greatest(0, coalesce(extract(epoch FROM next_retry_at - clock_timestamp()) * 1000000, 0))::bigint,
	coalesce((extract(epoch FROM first_failed_at) * 1000000)::bigint, 0)
FROM outbox_events
WHERE shard = $1 AND event_key = ANY ($2::text[]) AND state = 'PENDING' AND aside AND (aside OR attempts > 0)
ORDER BY seq LIMIT $3
