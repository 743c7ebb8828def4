-- ?1 consumer, ?2 lane, ?3 token, ?4 microseconds.
UPDATE {{.Cursors}} SET lease_until = {{now}} + ?4
WHERE consumer = ?1 AND lane = ?2 AND lease_token = ?3
