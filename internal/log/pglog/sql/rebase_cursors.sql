-- Puts the lane's foreign cursors, or all when rows were changed, into one window over all that is there now,
-- before the first row that is not older than the given time. Their leases are void.
-- $1 lane, $2 since, $3 whether rows were changed.
WITH moved AS (
	UPDATE {{.Cursors}} SET system_id = (SELECT system_identifier FROM pg_control_system())
	WHERE lane = $1 AND ($3 OR system_id <> (SELECT system_identifier FROM pg_control_system()))
	RETURNING consumer
)
INSERT INTO {{.Cursors}}_progress (consumer, lane, n, swept, window_to, window_end, last_id, lease_token)
SELECT p.consumer, p.lane, p.n + 1, p.swept, pg_current_snapshot(),
	coalesce((SELECT max(id) FROM {{.Messages}} WHERE lane = $1), 0),
	coalesce((SELECT max(id) FROM {{.Messages}} WHERE lane = $1 AND id < coalesce(
		(SELECT min(id) FROM {{.Messages}} WHERE lane = $1 AND created_at >= $2), 9223372036854775807)), 0),
	p.lease_token + 1
FROM moved CROSS JOIN LATERAL (
	SELECT * FROM {{.Cursors}}_progress AS p
	WHERE p.consumer = moved.consumer AND p.lane = $1 ORDER BY p.n DESC LIMIT 1
) AS p
