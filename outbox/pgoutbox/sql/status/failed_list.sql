-- $1 after seq, $2 rows.
SELECT seq, shard, topic, id::text, event_key, headers, payload,
	(extract(epoch FROM created_at) * 1000000)::bigint, attempts, coalesce(last_error, ''),
	(extract(epoch FROM first_failed_at) * 1000000)::bigint, (extract(epoch FROM failed_at) * 1000000)::bigint
FROM outbox_events
WHERE seq > $1 AND state = 'FAILED' AND (aside OR attempts > 0)
ORDER BY seq LIMIT $2
