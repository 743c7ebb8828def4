-- Why a lease was not given: no cursor, another system's, or held; or it is free by
-- now, because another statement has appended since.
-- $1 consumer, $2 lane, $3 holder.
SELECT
	coalesce(bool_or(c.consumer = $1), false) AS present,
	coalesce(bool_or(c.system_id <> here.system_identifier), false) AS foreign_system,
	coalesce((
		SELECT lease_holder = $3 OR lease_until <= clock_timestamp() FROM {{.Cursors}}_progress
		WHERE consumer = $1 AND lane = $2 ORDER BY n DESC LIMIT 1
	), false) AS free
FROM pg_control_system() AS here LEFT JOIN {{.Cursors}} AS c ON c.lane = $2
GROUP BY here.system_identifier
