-- Events that have failed and wait, in their place or aside. The index
-- outbox_events_failing has them, and those that wait behind them.
-- $1 shard, $2 after seq, $3 rows.
SELECT seq, shard, topic, id::text, event_key, (extract(epoch FROM created_at) * 1000000)::bigint, aside,
	attempts, retry_count, age_us, coalesce(last_error, ''), coalesce((extract(epoch FROM first_failed_at) * 1000000)::bigint, 0),
	coalesce((extract(epoch FROM next_retry_at) * 1000000)::bigint, 0)
FROM outbox_events
WHERE shard = $1 AND seq > $2 AND state = 'PENDING' AND attempts > 0 AND (aside OR attempts > 0)
ORDER BY seq LIMIT $3
