-- Pending events, counted up to ?2 rows and those aside; the oldest of them; how
-- many stand aside; how many have failed.
-- ?1 shard, ?2 rows.
SELECT count(*), coalesce(min(created_at), 0), coalesce(sum(aside), 0), coalesce(sum(attempts > 0), 0)
FROM (
	SELECT * FROM (
		SELECT created_at, aside, attempts FROM outbox_events
		WHERE shard = ?1 AND state = 'PENDING' AND NOT aside ORDER BY seq LIMIT ?2)
	UNION ALL
	SELECT created_at, aside, attempts FROM outbox_events WHERE shard = ?1 AND state = 'PENDING' AND aside
)
