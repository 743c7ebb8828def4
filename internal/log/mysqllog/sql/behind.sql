-- Of some lanes those in which a row may lie after the cursor: one with a place, by the
-- lane's next one, or one without. The condition on the topic holds always: doc.go says
-- why it is there. The list is as long as there are lanes.
-- ? lane …, ? consumer.
SELECT k.lane FROM (SELECT ? AS lane) AS k
LEFT JOIN {{.Messages}}_lanes AS l ON l.lane = k.lane
LEFT JOIN {{.Cursors}} AS c ON c.consumer = ? AND c.lane = k.lane
WHERE COALESCE(c.last_seq, 0) < COALESCE(l.next_seq, 1) - 1
	OR EXISTS (SELECT 1 FROM {{.Messages}} AS m FORCE INDEX ({{.Messages}}_lane) WHERE m.lane = k.lane AND m.seq = 0 AND m.topic >= '')
