-- ? position, ? microseconds, ? consumer, ? lane, ? token.
UPDATE {{.Cursors}} SET
	last_seq    = ?,
	lease_until = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND,
	updated_at  = UTC_TIMESTAMP(6),
	touched     = touched + 1
WHERE consumer = ? AND lane = ? AND lease_token = ?
