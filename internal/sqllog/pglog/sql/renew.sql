-- $1 consumer, $2 lane, $3 token, $4 seconds.
UPDATE {{.Cursors}} SET lease_until = clock_timestamp() + make_interval(secs => $4)
WHERE consumer = $1 AND lane = $2 AND lease_token = $3
