-- Deletes old rows that every cursor of the lane has passed. Only the first rows
-- of the lane are looked at, because ids grow with age.
-- ?1 lane, ?2 older than (microseconds since 1970), ?3 rows at most.
DELETE FROM {{.Messages}} WHERE id IN (
	SELECT id FROM (
		SELECT id, created_at FROM {{.Messages}}
		WHERE lane = ?1
			AND id <= coalesce((SELECT min(last_id) FROM {{.Cursors}} WHERE lane = ?1), 9223372036854775807)
		ORDER BY id LIMIT ?3 + 0
	)
	WHERE created_at < ?2
)
