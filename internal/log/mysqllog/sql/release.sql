-- ? consumer, ? lane, ? token, ? holder.
UPDATE {{.Cursors}} SET lease_until = '1970-01-01 00:00:00', lease_holder = ''
WHERE consumer = ? AND lane = ? AND lease_token = ? AND lease_holder = ?
