-- ?1 after seq, ?2 rows.
SELECT seq, shard, topic, id, event_key, headers, payload, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', created_at),
	attempts, COALESCE(last_error, ''),
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', first_failed_at), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', failed_at)
FROM outbox_events FORCE INDEX (outbox_events_state)
WHERE shard BETWEEN 0 AND 1023 AND state = 'FAILED' AND aside IN (FALSE, TRUE) AND seq > ?1
ORDER BY seq LIMIT ?2
