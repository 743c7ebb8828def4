-- $1 consumer, $2 lane, $3 token, $4 seconds, $5 server.
UPDATE {{.Cursors}} SET lease_until = clock_timestamp() + make_interval(secs => $4)
WHERE consumer = $1 AND lane = $2 AND lease_token = $3
	AND $5 = {{server}}
