-- $1 consumer, $2 lane, $3 token, $4 seconds, $5 from, $6 to ('' for none), $7 end, $8 last id, $9 server.
UPDATE {{.Cursors}} SET
	window_from = $5::pg_snapshot,
	window_to   = nullif($6::text, '')::pg_snapshot,
	window_end  = $7,
	last_id     = $8,
	lease_until = clock_timestamp() + make_interval(secs => $4),
	updated_at  = clock_timestamp()
WHERE consumer = $1 AND lane = $2 AND lease_token = $3
	AND $9 = {{server}}
