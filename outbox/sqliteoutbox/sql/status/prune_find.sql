-- The first published rows, as far as they are old enough.
-- ?1 shard, ?2 older than, ?3 rows, ?4 behind seq.
SELECT seq FROM (
	SELECT seq, created_at FROM outbox_events WHERE shard = ?1 AND state = 'PUBLISHED' AND seq > ?4 ORDER BY seq LIMIT ?3
)
WHERE created_at < ?2
ORDER BY seq
