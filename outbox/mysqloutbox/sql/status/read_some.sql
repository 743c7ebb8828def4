-- ?1 shard, ?2 a JSON array of seqs.
SELECT e.seq, e.id, e.topic, e.event_key, e.headers, e.payload, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', e.created_at),
	e.attempts, e.retry_count, e.age_us,
	GREATEST(0, COALESCE(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), e.next_retry_at), 0)),
	COALESCE(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', e.first_failed_at), 0)
FROM JSON_TABLE(?2, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS j STRAIGHT_JOIN outbox_events AS e FORCE INDEX (PRIMARY) ON e.seq = j.seq
WHERE e.shard = ?1 AND e.state = 'PENDING' AND e.aside = FALSE
ORDER BY e.seq
