-- Of a lane its next place, and the last of its committed rows without one, 0 for none.
-- The lane is a value, because MySQL walks the index backwards for a value alone: for
-- that of another row it reads the whole backlog and sorts it. The condition on the
-- topic holds always: doc.go says why it is there.
-- ? lane, ? lane.
SELECT l.lane, l.next_seq, COALESCE((SELECT m.id FROM {{.Messages}} AS m FORCE INDEX ({{.Messages}}_lane)
	WHERE m.lane = ? AND m.seq = 0 AND m.topic >= '' ORDER BY m.id DESC LIMIT 1), 0)
FROM {{.Messages}}_lanes AS l WHERE l.lane = ?
