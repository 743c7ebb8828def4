-- ?1 consumer, ?2 lane, ?3 token.
UPDATE {{.Cursors}} SET lease_until = 0, lease_holder = ''
WHERE consumer = ?1 AND lane = ?2 AND lease_token = ?3
