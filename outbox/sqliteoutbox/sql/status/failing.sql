-- Events that have failed and wait. Aside they are in an index. In their place they
-- are among the first that wait, because those behind them wait too: as many are
-- looked at as backlog.sql counts.
-- ?1 shard, ?2 after seq, ?3 rows.
SELECT e.seq, e.shard, e.topic, e.id, e.event_key, e.created_at, e.aside,
	e.attempts, e.retry_count, e.age_us, coalesce(e.last_error, ''), coalesce(e.first_failed_at, 0), coalesce(e.next_retry_at, 0)
FROM (
	SELECT * FROM (
		SELECT seq, attempts FROM outbox_events
		WHERE shard = ?1 AND state = 'PENDING' AND NOT aside AND seq > ?2 ORDER BY seq LIMIT 100000)
	WHERE attempts > 0
	UNION ALL
	SELECT seq, attempts FROM outbox_events
	WHERE shard = ?1 AND state = 'PENDING' AND aside AND seq > ?2 AND attempts > 0
) AS failing CROSS JOIN outbox_events AS e ON e.seq = failing.seq
ORDER BY e.seq LIMIT ?3
