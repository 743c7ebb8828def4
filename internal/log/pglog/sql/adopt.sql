-- Takes another system's cursors as they are. Their leases are void.
WITH adopted AS (
	UPDATE {{.Cursors}} SET system_id = (SELECT system_identifier FROM pg_control_system())
	WHERE system_id <> (SELECT system_identifier FROM pg_control_system())
	RETURNING consumer, lane
)
INSERT INTO {{.Cursors}}_progress (consumer, lane, n, swept, window_from, window_to, window_end, window_floor, last_id, lease_token)
SELECT p.consumer, p.lane, p.n + 1, p.swept, p.window_from, p.window_to, p.window_end, p.window_floor, p.last_id, p.lease_token + 1
FROM adopted AS a CROSS JOIN LATERAL (
	SELECT * FROM {{.Cursors}}_progress AS p
	WHERE p.consumer = a.consumer AND p.lane = a.lane ORDER BY p.n DESC LIMIT 1
) AS p
