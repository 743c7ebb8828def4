-- The number of rows after a position, with and without a place, and the time when the
-- first of them was appended. The condition on the topic holds always: doc.go says why it
-- is there.
-- ? lane, ? position, ? rows at most, ? lane, ? rows at most, ? lane, ? position, ? lane.
SELECT
	(SELECT COUNT(*) FROM (
		(SELECT id FROM {{.Messages}} FORCE INDEX ({{.Messages}}_lane) WHERE lane = ? AND seq > ? AND topic >= '' ORDER BY seq LIMIT ?)
		UNION ALL
		(SELECT id FROM {{.Messages}} FORCE INDEX ({{.Messages}}_lane) WHERE lane = ? AND seq = 0 AND topic >= '' ORDER BY seq LIMIT ?)
	) AS waiting),
	COALESCE((SELECT MIN(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', created_at)) FROM (
		(SELECT created_at FROM {{.Messages}} FORCE INDEX ({{.Messages}}_lane) WHERE lane = ? AND seq > ? ORDER BY seq LIMIT 1)
		UNION ALL
		(SELECT created_at FROM {{.Messages}} FORCE INDEX ({{.Messages}}_lane) WHERE lane = ? AND seq = 0 ORDER BY id LIMIT 1)
	) AS first), 0)
