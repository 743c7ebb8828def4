-- Pending events, counted up to ?2 rows and those aside; the oldest of them; how
-- many stand aside; how many have failed.
-- ?1 shard, ?2 rows.
SELECT COUNT(*), COALESCE(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', MIN(created_at)), 0),
	COALESCE(SUM(aside), 0), COALESCE(SUM(attempts > 0), 0)
FROM (
	(SELECT created_at, aside, attempts FROM outbox_events
	WHERE shard = ?1 AND state = 'PENDING' AND aside = FALSE ORDER BY seq LIMIT ?2)
	UNION ALL
	(SELECT created_at, aside, attempts FROM outbox_events WHERE shard = ?1 AND state = 'PENDING' AND aside = TRUE)
) AS waiting
