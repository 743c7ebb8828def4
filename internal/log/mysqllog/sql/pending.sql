-- One look at a lane, without a lock. First its next place (0: the lane has no row
-- yet), the server, whether it has the position: its row is there, or every cursor
-- has passed it, 2 more if the last row that was left out (see unread.go) is at
-- its place, and 4 more if one look shows whole commits (see doc.go). Then the last row
-- that has a place, when that is after the position, then the committed rows without one,
-- within the spans where some may be, with their messages, or whole.
-- All rows ask for a column that the index lacks: doc.go says why.
-- ? lane, ? the position's row (0: not known), ? the position's row, ? position,
-- ? position, ? lane, ? the row left out (0: none), ? the row left out, ? its place,
-- ? lane, ? position, ? lane, the spans, ? rows at most.
SELECT 0 AS kind, COALESCE((SELECT next_seq FROM {{.Messages}}_lanes WHERE lane = ?), 0) AS place,
	(? = 0 OR COALESCE((SELECT p.seq FROM {{.Messages}} AS p WHERE p.id = ?) = ?, FALSE)
		OR ? <= ALL (SELECT last_seq FROM {{.Cursors}} WHERE lane = ?))
		+ 2 * (? = 0 OR COALESCE((SELECT b.seq FROM {{.Messages}} AS b WHERE b.id = ?) = ?, FALSE))
		+ 4 * ({{inOrder}}) AS row_id,
	{{server}} AS server{{noRest}}
UNION ALL
(SELECT 1, seq, id, message_id{{noRest}} FROM {{.Messages}} FORCE INDEX ({{.Messages}}_lane) WHERE lane = ? AND seq > ? ORDER BY seq DESC LIMIT 1)
UNION ALL
(SELECT 2, 0, id, message_id{{rest}} FROM {{.Messages}} FORCE INDEX ({{.Messages}}_lane) WHERE lane = ? AND seq = 0 AND {{inSpans}} ORDER BY id LIMIT ?)
