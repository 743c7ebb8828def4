-- The keys that stand aside, with how many events, and the microseconds until
-- the first of each may be tried. Beside min(seq), a bare column is of that row.
-- ?1 shard.
SELECT event_key, n, max(0, coalesce(next_retry_at - CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000, 0))
FROM (
	SELECT event_key, count(*) AS n, min(seq), next_retry_at
	FROM outbox_events WHERE shard = ?1 AND state = 'PENDING' AND aside GROUP BY event_key
)
