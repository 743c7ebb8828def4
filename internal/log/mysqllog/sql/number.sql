-- Gives the rows of a list their places, if none were given in the lane since
-- the list was made: one statement, so that no client can stall while it
-- keeps the lane locked. The list is joined and not put into IN (…), because for
-- a long one the optimizer would rather read the whole table, and wait for the
-- rows of open transactions: this way each row is met by its primary key alone.
-- The last row gets its place only if it has the message that was seen: a crash may
-- have given its id to another row, and with it those of some before it (doc.go).
-- ? a JSON array of ids, ? the last id, ? its message, ? next place afterwards, ? the
-- difference of place and id, ? lane, ? next place when the list was made, ? the server
-- that it was made on.
UPDATE {{.Messages}}_lanes AS l
	STRAIGHT_JOIN JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) AS j
	STRAIGHT_JOIN {{.Messages}} AS m FORCE INDEX (PRIMARY) ON m.id = j.id AND (m.id <> ? OR m.message_id = ?)
SET l.next_seq = ?, m.seq = m.id + ?
WHERE l.lane = ? AND l.next_seq = ? AND {{server}} = ?
