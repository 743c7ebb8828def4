-- Events that have failed and wait. Aside they are in an index. In their place they
-- are among the first that wait, because those behind them wait too: as many are
-- looked at as backlog.sql counts.
-- ?1 shard, ?2 after seq, ?3 rows.
SELECT e.seq, e.shard, e.topic, e.id, e.event_key, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', e.created_at), e.aside,
	e.attempts, e.retry_count, e.age_us, COALESCE(e.last_error, ''), COALESCE(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', e.first_failed_at), 0),
	COALESCE(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', e.next_retry_at), 0)
FROM (
	(SELECT first.seq FROM (
		SELECT seq, attempts FROM outbox_events FORCE INDEX (outbox_events_state)
		WHERE shard = ?1 AND state = 'PENDING' AND aside = FALSE AND seq > ?2 ORDER BY seq LIMIT 100000
	) AS first WHERE first.attempts > 0 ORDER BY first.seq LIMIT ?3)
	UNION ALL
	(SELECT seq FROM outbox_events FORCE INDEX (outbox_events_state)
	WHERE shard = ?1 AND state = 'PENDING' AND aside = TRUE AND seq > ?2 AND attempts > 0 ORDER BY seq LIMIT ?3)
) AS failing STRAIGHT_JOIN outbox_events AS e FORCE INDEX (PRIMARY) ON e.seq = failing.seq
ORDER BY e.seq LIMIT ?3
