-- Why a lease was not given. No row: the lane has no cursor at all.
-- $1 consumer, $2 lane.
SELECT
	coalesce(bool_or(c.consumer = $1), false) AS present,
	coalesce(bool_or(c.system_id <> here.system_identifier), false) AS foreign_system
FROM pg_control_system() AS here LEFT JOIN {{.Cursors}} AS c ON c.lane = $2
GROUP BY here.system_identifier
