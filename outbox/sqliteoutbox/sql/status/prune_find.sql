-- The first published rows, as far as they are old enough.
-- ?1 shard, ?2 older than, ?3 rows.
SELECT seq FROM (
	SELECT seq, created_at FROM outbox_events WHERE shard = ?1 AND state = 'PUBLISHED' ORDER BY seq LIMIT ?3
)
WHERE created_at < ?2
