-- $1 consumer, $2 lane, $3 holder, $4 seconds. No row: absent, or held by another.
UPDATE {{.Cursors}} SET
	lease_holder = $3,
	lease_token  = lease_token + 1,
	lease_until  = clock_timestamp() + make_interval(secs => $4)
WHERE consumer = $1 AND lane = $2
	AND (lease_holder = $3 OR lease_until <= clock_timestamp())
	AND system_id = (SELECT system_identifier FROM pg_control_system())
RETURNING lease_token, window_from::text, coalesce(window_to::text, ''), window_end, last_id,
	{{server}}
