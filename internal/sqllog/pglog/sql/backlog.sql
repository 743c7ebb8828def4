-- What lies after a cursor, counted up to $3 rows.
-- $1 consumer, $2 lane, $3 rows at most.
WITH c AS MATERIALIZED (
	SELECT window_from, window_to, last_id FROM {{.Cursors}} WHERE consumer = $1 AND lane = $2
	UNION ALL
	SELECT '1:1:'::pg_snapshot, NULL, 0
	LIMIT 1
), waiting AS (
	SELECT m.created_at
	FROM c JOIN {{.Messages}} AS m ON m.lane = $2
		AND (m.xid >= pg_snapshot_xmax(c.window_from)
			OR m.xid = ANY (ARRAY(SELECT pg_snapshot_xip(c.window_from))))
	WHERE c.window_to IS NULL OR m.id > c.last_id OR NOT pg_visible_in_snapshot(m.xid, c.window_to)
	LIMIT $3
)
SELECT count(*), min(created_at) FROM waiting
