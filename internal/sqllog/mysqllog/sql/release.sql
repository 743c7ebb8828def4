-- ? consumer, ? lane, ? token.
UPDATE {{.Cursors}} SET lease_until = '1970-01-01 00:00:00', lease_holder = ''
WHERE consumer = ? AND lane = ? AND lease_token = ?
