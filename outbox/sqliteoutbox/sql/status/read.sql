-- ?1 shard, ?2 after seq, ?3 rows.
SELECT seq, id, topic, event_key, headers, payload, created_at, attempts, retry_count, age_us,
	max(0, coalesce(next_retry_at - CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000, 0)), coalesce(first_failed_at, 0)
FROM outbox_events
WHERE shard = ?1 AND seq > ?2 AND state = 'PENDING' AND NOT aside
ORDER BY seq LIMIT ?3
