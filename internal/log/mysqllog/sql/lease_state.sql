-- Whether another holder's lease is valid. A look before the write, so that
-- standbys that ask again and again lock nothing. No row: there is no cursor.
-- ? holder, ? consumer, ? lane.
SELECT lease_holder <> ? AND lease_until > UTC_TIMESTAMP(6)
FROM {{.Cursors}} WHERE consumer = ? AND lane = ?
