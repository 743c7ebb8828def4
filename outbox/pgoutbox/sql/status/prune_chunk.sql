-- Deletes the first published rows behind a place: in the order of seqs, up to the
-- first one that is pending or not old enough. Failed events are passed: they never become
-- published in their place. Returns how many, the last seq that is done with, which
-- transactions are running now, and the server. As a comparison of rows the range is
-- walked along the primary key also where the table has no statistics.
-- $1 shard, $2 older than, $3 rows at most, $4 place.
WITH first AS MATERIALIZED (
	SELECT seq, state = 'PENDING' OR state = 'PUBLISHED' AND created_at >= $2 AS kept
	FROM outbox_events WHERE (shard, seq) > ($1, $4) AND (shard, seq) <= ($1, 9223372036854775807)
	ORDER BY shard, seq LIMIT $3
), done AS MATERIALIZED (
	SELECT coalesce(min(seq) FILTER (WHERE kept) - 1, max(seq), $4) AS seq FROM first
), gone AS (
	DELETE FROM outbox_events WHERE shard = $1 AND seq > $4 AND seq <= (SELECT seq FROM done) AND state = 'PUBLISHED'
	RETURNING 1
)
SELECT (SELECT count(*) FROM gone), (SELECT seq FROM done), {{running}}, {{server}}
