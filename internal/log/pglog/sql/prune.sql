-- Deletes the first rows behind a place: in the order of ids, up to the first one
-- that is not old enough or that some cursor of the lane has not covered. A row below
-- a cursor's last id inside an open window counts as not covered until the window is
-- closed. Returns how many, the last id that is done with, which transactions are
-- running now, and the server. As a comparison of rows the range is walked along the
-- primary key also where the table has no statistics, as after pg_upgrade.
-- $1 lane, $2 older than, $3 rows at most, $4 place.
WITH cursors AS MATERIALIZED (
	SELECT coalesce(p.window_from, '1:1:') AS covers, c.system_id <> here.system_identifier AS foreign_system
	FROM pg_control_system() AS here CROSS JOIN {{.Cursors}} AS c
	LEFT JOIN LATERAL (
		SELECT window_from FROM {{.Cursors}}_progress AS p
		WHERE p.consumer = c.consumer AND p.lane = c.lane ORDER BY p.n DESC LIMIT 1
	) AS p ON true
	WHERE c.lane = $1
), first AS MATERIALIZED (
	SELECT id, created_at >= $2 OR EXISTS (
		SELECT 1 FROM cursors AS c WHERE c.foreign_system OR NOT pg_visible_in_snapshot(m.xid, c.covers)
	) AS kept
	FROM {{.Messages}} AS m WHERE (lane, id) > ($1, $4) AND (lane, id) <= ($1, 9223372036854775807)
	ORDER BY lane, id LIMIT $3
), done AS MATERIALIZED (
	SELECT coalesce(min(id) FILTER (WHERE kept) - 1, max(id), $4) AS id FROM first
), gone AS (
	DELETE FROM {{.Messages}} WHERE lane = $1 AND id > $4 AND id <= (SELECT id FROM done) RETURNING 1
)
SELECT (SELECT count(*) FROM gone), (SELECT id FROM done), {{running}}, {{server}}
