-- The rows after a cursor, counted up to ?3.
-- ?1 consumer, ?2 lane, ?3 rows at most.
SELECT count(*), coalesce(min(created_at), 0)
FROM (
	SELECT created_at FROM {{.Messages}}
	WHERE lane = ?2
		AND id > coalesce((SELECT last_id FROM {{.Cursors}} WHERE consumer = ?1 AND lane = ?2), 0)
	ORDER BY id LIMIT ?3 + 0
)
