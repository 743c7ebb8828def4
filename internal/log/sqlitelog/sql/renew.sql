-- ?1 consumer, ?2 lane, ?3 token, ?4 microseconds, ?5 last id.
UPDATE {{.Cursors}} SET lease_until = {{now}} + ?4
WHERE consumer = ?1 AND lane = ?2 AND lease_token = ?3 AND last_id = ?5
