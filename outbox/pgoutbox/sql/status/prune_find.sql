-- The first published rows, as far as they are old enough.
-- $1 shard, $2 older than (microseconds since 1970), $3 rows.
SELECT seq FROM (
	SELECT seq, created_at FROM outbox_events
	WHERE shard = $1 AND (state = 'PUBLISHED')::integer <> 0
	ORDER BY seq LIMIT $3
) AS first
WHERE created_at < timestamptz 'epoch' + $2::bigint * interval '1 microsecond'
