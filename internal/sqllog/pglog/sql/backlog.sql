-- What lies after a cursor, counted up to $3 rows: what came after its window, or
-- after what it has covered when no window is open, and what is left of the window.
--
-- Each part is a range in an index whatever the planner guesses. What it does not
-- know it may take for most of the lane, and would rather read all of it; between
-- two bounds it expects few rows. The transactions that were running are looked up
-- one by one: between the oldest and the newest of them may lie the whole log.
-- $1 consumer, $2 lane, $3 rows at most.
WITH c AS MATERIALIZED (
	SELECT window_from, window_to, window_end, last_id FROM {{.Cursors}} WHERE consumer = $1 AND lane = $2
	UNION ALL
	SELECT '1:1:'::pg_snapshot, NULL, 0, 0
	LIMIT 1
), waiting AS (
	SELECT created_at FROM {{.Messages}}
	WHERE lane = $2 AND xid >= (SELECT pg_snapshot_xmax(coalesce(window_to, window_from)) FROM c)
		AND xid <= '18446744073709551615'::xid8
	UNION ALL
	SELECT created_at FROM c
	CROSS JOIN LATERAL pg_snapshot_xip(coalesce(window_to, window_from)) AS running
	CROSS JOIN LATERAL (
		SELECT created_at FROM {{.Messages}} WHERE lane = $2 AND xid >= running AND xid <= running
	) AS late
	UNION ALL
	SELECT created_at FROM {{.Messages}}
	WHERE lane = $2 AND id > (SELECT last_id FROM c)
		AND id <= (SELECT CASE WHEN window_to IS NOT NULL THEN window_end END FROM c)
		AND pg_visible_in_snapshot(xid, (SELECT window_to FROM c))
		AND NOT pg_visible_in_snapshot(xid, (SELECT window_from FROM c))
	LIMIT $3
)
SELECT count(*), min(created_at) FROM waiting
