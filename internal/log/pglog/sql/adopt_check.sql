-- The greatest transaction id that rows and positions of another system's lanes hold,
-- and the oldest one that runs on this server. One look into the index for a lane.
WITH strangers AS MATERIALIZED (
	SELECT c.consumer, c.lane FROM {{.Cursors}} AS c
	WHERE c.system_id <> (SELECT system_identifier FROM pg_control_system())
), stored AS (
	SELECT m.xid FROM (SELECT DISTINCT lane FROM strangers) AS s CROSS JOIN LATERAL (
		SELECT xid FROM {{.Messages}} AS m WHERE m.lane = s.lane ORDER BY m.xid DESC LIMIT 1
	) AS m
	UNION ALL
	-- A snapshot holds only ids below its xmax.
	SELECT (pg_snapshot_xmax(coalesce(p.window_to, p.window_from))::text::numeric - 1)::text::xid8
	FROM strangers AS s CROSS JOIN LATERAL (
		SELECT window_from, window_to FROM {{.Cursors}}_progress AS p
		WHERE p.consumer = s.consumer AND p.lane = s.lane ORDER BY p.n DESC LIMIT 1
	) AS p
)
SELECT coalesce(max(xid::text::numeric), 0)::text, pg_snapshot_xmin(pg_current_snapshot())::text,
	coalesce(max(xid::text::numeric) >= pg_snapshot_xmin(pg_current_snapshot())::text::numeric, false)
FROM stored
