-- ?1 consumer, ?2 lane, ?3 token, ?4 microseconds, ?5 last id.
UPDATE {{.Cursors}} SET
	last_id     = ?5,
	lease_until = {{now}} + ?4,
	updated_at  = {{now}}
WHERE consumer = ?1 AND lane = ?2 AND lease_token = ?3
