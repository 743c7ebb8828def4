-- Puts the lane's foreign cursors into one window over all that is there now,
-- after the last row older than the given time.
-- $1 lane, $2 since.
UPDATE {{.Cursors}} SET
	window_from = '1:1:',
	window_to   = pg_current_snapshot(),
	window_end  = coalesce((SELECT max(id) FROM {{.Messages}} WHERE lane = $1), 0),
	last_id     = coalesce((SELECT max(id) FROM {{.Messages}} WHERE lane = $1 AND created_at < $2), 0),
	system_id   = (SELECT system_identifier FROM pg_control_system()),
	lease_token = lease_token + 1,
	lease_until = '-infinity',
	updated_at  = clock_timestamp()
WHERE lane = $1 AND system_id <> (SELECT system_identifier FROM pg_control_system())
