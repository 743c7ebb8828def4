-- Moves the cursor from the place where the holder believes it to stand, to a row
-- that is still the one that was read. The row is met by its primary key: at
-- REPEATABLE READ it is locked, and no gap beside it. Before all rows there is none to
-- check.
-- ? position, ? microseconds, ? consumer, ? lane, ? token, ? holder, ? server,
-- ? position, ? position before, ? position, ? the position's row, ? position.
UPDATE {{.Cursors}} SET
	last_seq    = ?,
	lease_until = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND,
	updated_at  = UTC_TIMESTAMP(6),
	touched     = touched + 1
WHERE consumer = ? AND lane = ? AND lease_token = ? AND lease_holder = ? AND {{server}} = ?
	AND (last_seq = ? OR last_seq = ? AND (? = 0 OR (SELECT m.seq FROM {{.Messages}} AS m WHERE m.id = ? AND m.lane = {{.Cursors}}.lane) = ?))
