-- The lanes that have committed rows without a place, and the last of these.
SELECT lane, last_id FROM (
	SELECT l.lane, (SELECT m.id FROM {{.Messages}} AS m FORCE INDEX ({{.Messages}}_lane)
		WHERE m.lane = l.lane AND m.seq = 0 ORDER BY m.id DESC LIMIT 1) AS last_id
	FROM {{.Messages}}_lanes AS l
) AS waiting
WHERE last_id IS NOT NULL
