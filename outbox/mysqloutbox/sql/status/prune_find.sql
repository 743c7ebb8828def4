-- The first published rows, as far as they are old enough.
-- ?1 shard, ?2 older than (microseconds since 1970), ?3 rows, ?4 behind seq.
SELECT seq FROM (
	SELECT seq, created_at FROM outbox_events FORCE INDEX (outbox_events_state)
	WHERE shard = ?1 AND state = 'PUBLISHED' AND aside = FALSE AND seq > ?4 ORDER BY seq LIMIT ?3
) AS first
WHERE created_at < TIMESTAMPADD(MICROSECOND, ?2, '1970-01-01 00:00:00.000000')
ORDER BY seq
