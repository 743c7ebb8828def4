-- ? microseconds, ? consumer, ? lane, ? token.
UPDATE {{.Cursors}} SET lease_until = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, touched = touched + 1
WHERE consumer = ? AND lane = ? AND lease_token = ?
