-- Before all rows there is none to check.
-- ?1 consumer, ?2 lane, ?3 token, ?4 microseconds, ?5 last id, ?6 last id before.
UPDATE {{.Cursors}} SET
	last_id     = ?5,
	lease_until = {{now}} + ?4,
	updated_at  = {{now}}
WHERE consumer = ?1 AND lane = ?2 AND lease_token = ?3
	AND (last_id = ?5 OR last_id = ?6 AND (?5 = 0 OR EXISTS (SELECT 1 FROM {{.Messages}} WHERE id = ?5 AND lane = ?2)))
