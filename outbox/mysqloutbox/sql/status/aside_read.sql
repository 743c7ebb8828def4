-- ?1 shard, ?2 a JSON array of keys, ?3 rows.
SELECT e.seq, e.id, e.topic, e.event_key, e.headers, e.payload, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', e.created_at),
	e.attempts, e.retry_count, e.age_us,
	GREATEST(0, COALESCE(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), e.next_retry_at), 0)),
	COALESCE(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', e.first_failed_at), 0)
FROM outbox_events AS e FORCE INDEX (outbox_events_state)
WHERE e.shard = ?1 AND e.state = 'PENDING' AND e.aside = TRUE AND CAST(e.event_key AS BINARY) IN (
	SELECT CAST(CONVERT(j.k USING utf8mb4) AS BINARY) FROM JSON_TABLE(?2, '$[*]' COLUMNS (k VARCHAR(1000) PATH '$')) AS j)
ORDER BY e.seq LIMIT ?3
