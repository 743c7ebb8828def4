-- The new token is the statement's last insert id. No row: held by another.
-- ? holder, ? microseconds, ? consumer, ? lane, ? holder.
UPDATE {{.Cursors}} SET
	lease_holder = ?,
	lease_token  = LAST_INSERT_ID(lease_token + 1),
	lease_until  = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
WHERE consumer = ? AND lane = ? AND (lease_holder = ? OR lease_until <= UTC_TIMESTAMP(6))
