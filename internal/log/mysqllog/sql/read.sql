-- Rows after a position up to a bound, a place that an earlier statement saw given.
-- Nothing is read when the server is another one, when the bound is not there as it
-- was seen, or when the position is not: its row has gone, and there is a cursor
-- that has not passed it. See doc.go.
-- ? lane, ? position, ? bound, ? server, ? the bound's row, ? bound,
-- ? the position's row (0: not known), ? the position's row, ? position,
-- ? position, ? lane, ? rows at most.
SELECT id, seq, topic, message_id, message_key, headers, payload,
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', created_at)
FROM {{.Messages}} FORCE INDEX ({{.Messages}}_lane)
WHERE lane = ? AND seq > ? AND seq <= ? AND {{server}} = ?
	AND (SELECT b.seq FROM {{.Messages}} AS b WHERE b.id = ?) = ?
	AND (? = 0
		OR (SELECT p.seq FROM {{.Messages}} AS p WHERE p.id = ?) = ?
		OR ? <= ALL (SELECT last_seq FROM {{.Cursors}} WHERE lane = ?))
ORDER BY seq LIMIT ?
