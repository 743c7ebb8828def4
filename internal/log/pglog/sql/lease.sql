-- Takes the lease. Two that append the same n take turns, and the second appends
-- nothing. The lock on the newest row is there for a statement or a transaction that
-- looks at an old snapshot: where that row has been swept it fails or appends nothing,
-- though n + 1 may be free again.
-- $1 consumer, $2 lane, $3 holder, $4 seconds. No row: see lease_state.sql.
INSERT INTO {{.Cursors}}_progress (consumer, lane, n, swept, window_from, window_to, window_end, window_floor, last_id,
	lease_holder, lease_token, lease_until)
SELECT consumer, lane, n + 1, swept, window_from, window_to, window_end, window_floor, last_id,
	$3, lease_token + 1, clock_timestamp() + make_interval(secs => $4)
FROM (
	SELECT * FROM {{.Cursors}}_progress WHERE consumer = $1 AND lane = $2 ORDER BY n DESC LIMIT 1 FOR KEY SHARE
) AS newest
WHERE (lease_holder = $3 OR lease_until <= clock_timestamp())
	AND EXISTS (
		SELECT 1 FROM {{.Cursors}} AS c
		WHERE c.consumer = $1 AND c.lane = $2 AND c.system_id = (SELECT system_identifier FROM pg_control_system())
	)
ON CONFLICT (consumer, lane, n) DO NOTHING
RETURNING lease_token, window_from::text, coalesce(window_to::text, ''), window_end, window_floor, last_id,
	{{server}}
