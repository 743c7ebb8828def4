-- ? consumer, ? lane, ? token.
SELECT last_seq, {{server}} FROM {{.Cursors}} WHERE consumer = ? AND lane = ? AND lease_token = ?
