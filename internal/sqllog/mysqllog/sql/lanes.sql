-- Of each lane its next place, and the last of its committed rows without one, 0 for
-- none, within the spans where some may be.
-- ? the spans.
SELECT l.lane, l.next_seq, COALESCE((SELECT m.id FROM {{.Messages}} AS m FORCE INDEX ({{.Messages}}_lane)
	WHERE m.lane = l.lane AND m.seq = 0 AND {{inSpans}} ORDER BY m.id DESC LIMIT 1), 0)
FROM {{.Messages}}_lanes AS l
