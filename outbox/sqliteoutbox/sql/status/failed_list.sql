-- ?1 after seq, ?2 rows.
SELECT seq, shard, topic, id, event_key, headers, payload, created_at, attempts, coalesce(last_error, ''),
	first_failed_at, failed_at
FROM outbox_events INDEXED BY outbox_events_failed
WHERE seq > ?1 AND state = 'FAILED'
ORDER BY seq LIMIT ?2
