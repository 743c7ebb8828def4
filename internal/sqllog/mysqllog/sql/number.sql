-- Gives the rows of a list their places, if nobody has given any in the lane
-- since the list was made: one statement, so that no client can stall while it
-- keeps the lane locked. The list is joined and not put into IN (…), because for
-- a long one the optimizer would rather read the whole table, and wait for the
-- rows of open transactions: this way each row is met by its primary key alone.
-- ? a JSON array of ids, ? next place afterwards, ? what is added to an id,
-- ? lane, ? next place when the list was made, ? the server that it was made on.
UPDATE {{.Messages}}_lanes AS l
	STRAIGHT_JOIN JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) AS j
	STRAIGHT_JOIN {{.Messages}} AS m FORCE INDEX (PRIMARY) ON m.id = j.id
SET l.next_seq = ?, m.seq = m.id + ?
WHERE l.lane = ? AND l.next_seq = ? AND {{server}} = ?
