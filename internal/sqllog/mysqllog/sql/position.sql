-- ? consumer, ? lane, ? token.
SELECT last_seq FROM {{.Cursors}} WHERE consumer = ? AND lane = ? AND lease_token = ?
