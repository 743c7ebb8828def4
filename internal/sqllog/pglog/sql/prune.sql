-- Deletes rows that every cursor of the lane has covered. A row below a cursor's
-- last id inside an open window stays until the window is closed.
-- $1 lane, $2 older than, $3 rows at most.
DELETE FROM {{.Messages}} WHERE lane = $1 AND id IN (
	SELECT m.id FROM {{.Messages}} AS m
	WHERE m.lane = $1 AND m.created_at < $2
		AND NOT EXISTS (
			SELECT 1 FROM {{.Cursors}} AS c
			WHERE c.lane = $1 AND (NOT pg_visible_in_snapshot(m.xid, c.window_from)
				OR c.system_id <> (SELECT system_identifier FROM pg_control_system())))
	ORDER BY m.id LIMIT $3
)
